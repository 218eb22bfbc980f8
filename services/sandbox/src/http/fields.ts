import { isId } from '@event-gateway/protocol';
import { Refusal } from '../refusal.js';

/** What one field of a JSON body (or of a query) must be. */
export interface Field<T> {
  read(value: unknown): { readonly value: T } | { readonly problem: string };
}

export type Fields = Readonly<Record<string, Field<unknown>>>;
export type FieldValues<F extends Fields> = { readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** Text of 1 to `maxUnits` UTF-16 units. */
export function textField(maxUnits: number): Field<string> {
  return {
    read: (value) =>
      typeof value === 'string' && value.trim() !== '' && value.length <= maxUnits && !unstorable.test(value)
        ? { value }
        : { problem: `must be text of 1 to ${maxUnits} characters` },
  };
}

export const idField: Field<string> = {
  read: (value) => (isId(value) ? { value } : { problem: 'must be an id' }),
};

export const idsField: Field<readonly string[]> = {
  read: (value) => (Array.isArray(value) && value.every(isId) ? { value } : { problem: 'must be a list of ids' }),
};

/** A whole number; in a query it comes as text. */
export function intField(min: number, max = Number.MAX_SAFE_INTEGER): Field<number> {
  return {
    read: (value) => {
      const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
      return typeof number === 'number' && Number.isSafeInteger(number) && number >= min && number <= max
        ? { value: number }
        : { problem: `must be a whole number of at least ${min}${max === Number.MAX_SAFE_INTEGER ? '' : ` and at most ${max}`}` };
    },
  };
}

export function choiceField<const C extends string>(choices: readonly C[]): Field<C> {
  return {
    read: (value) => {
      const choice = choices.find((candidate) => candidate === value);
      return choice === undefined ? { problem: `must be one of ${choices.join(', ')}` } : { value: choice };
    },
  };
}

export function optionalField<T>(field: Field<T>): Field<T | undefined> {
  return { read: (value) => (value === undefined || value === null ? { value: undefined } : field.read(value)) };
}

/** Reads what the spec names and ignores the rest; a refusal lists every problem. */
export function readFields<F extends Fields>(body: unknown, fields: F): FieldValues<F> | Refusal {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return new Refusal('bad_request', 'the body must be a JSON object');
  const members = new Map<string, unknown>(Object.entries(body));
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const result = field.read(members.get(name));
    if ('problem' in result) problems.push(`${name} ${result.problem}`);
    else values[name] = result.value;
  }
  return problems.length > 0 ? new Refusal('bad_request', problems.join('; ')) : (values as FieldValues<F>);
}

/** A NUL would end the text in storage; a lone surrogate has no UTF-8. */
const unstorable = /[\0\p{Surrogate}]/u;
