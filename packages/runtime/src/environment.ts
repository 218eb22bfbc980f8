/** What one variable of the environment means. `parse` returns the value, or a problem to be told to the operator. */
export interface Variable<T> {
  readonly about: string;
  /** Shown when the variable is unset; `undefined` means that it is required or optional, as `required` says. */
  readonly defaultText: string | undefined;
  readonly required: boolean;
  readonly secret: boolean;
  parse(text: string | undefined): { readonly value: T } | { readonly problem: string };
}

export type Spec = Readonly<Record<string, Variable<unknown>>>;
export type Values<S extends Spec> = { readonly [K in keyof S]: S[K] extends Variable<infer T> ? T : never };

/** Every problem of an environment at once. */
export class ConfigError extends Error {
  readonly code = 'BAD_CONFIG';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The environment has ${problems.length} problem${problems.length === 1 ? '' : 's'}:\n${problems.map((p) => `  - ${p}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

interface Common {
  readonly about: string;
}

function variable<T>({ about }: Common, defaultText: string | undefined, required: boolean, parse: Variable<T>['parse']): Variable<T> {
  return { about, defaultText, required, secret: false, parse };
}

/** An integer within bounds. */
export function int(options: Common & { default: number; min: number; max?: number }): Variable<number> {
  const { min, max = Number.MAX_SAFE_INTEGER } = options;
  return variable(options, String(options.default), false, (text) => {
    if (text === undefined) return { value: options.default };
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!Number.isSafeInteger(value) || value < min || value > max) {
      return {
        problem: `must be a whole number ${max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`}, not "${text}"`,
      };
    }
    return { value };
  });
}

/** An integer that may be left out; `fallback` says in words what then holds. */
export function optionalInt(options: Common & { fallback: string; min: number; max?: number }): Variable<number | undefined> {
  const inner = int({ ...options, default: options.min });
  return variable<number | undefined>(options, options.fallback, false, (text) =>
    text === undefined ? { value: undefined } : inner.parse(text),
  );
}

/** Text of a given form. */
export function string(options: Common & { default: string; pattern?: RegExp; form?: string }): Variable<string> {
  return variable(options, options.default, false, (text) => checkPattern(text ?? options.default, options));
}

/** Text that may be left out. */
export function optionalString(options: Common & { pattern?: RegExp; form?: string }): Variable<string | undefined> {
  return variable<string | undefined>(options, undefined, false, (text) =>
    text === undefined ? { value: undefined } : checkPattern(text, options),
  );
}

/**
 * A secret that goes into an HTTP header, or is compared with one; it may be left out. What surrounds it is not part of it: a file that
 * a secret is mounted from mostly ends with a line break.
 */
export function token(options: Common): Variable<string | undefined> {
  const inner = optionalString({ ...options, pattern: /^[!-~]+$/, form: 'visible ASCII characters without a space' });
  return { ...inner, secret: true, parse: (text) => inner.parse(text?.trim()) };
}

/** One of a closed set. */
export function oneOf<const C extends string>(options: Common & { default: C; choices: readonly C[] }): Variable<C> {
  return variable(options, options.default, false, (text) => {
    if (text === undefined) return { value: options.default };
    const value = options.choices.find((choice) => choice === text);
    return value === undefined ? { problem: `must be one of ${options.choices.join(', ')}, not "${text}"` } : { value };
  });
}

/**
 * A URL with one of the given schemes, and a path that `path` accepts, which says in words what it means (`with …`). The URL itself is
 * not repeated in a problem, since it may carry a password.
 */
export function url(
  options: Common & { default?: string; schemes: readonly string[]; path?: { pattern: RegExp; form: string } },
): Variable<string> {
  return variable(options, options.default, options.default === undefined, (text) => {
    const value = text ?? options.default;
    if (value === undefined) return { problem: 'is required' };
    if (!URL.canParse(value) || !options.schemes.includes(new URL(value).protocol.slice(0, -1))) {
      return { problem: `must be a URL that begins with ${options.schemes.map((s) => `${s}://`).join(' or ')}` };
    }
    const { path } = options;
    if (path !== undefined && !path.pattern.test(new URL(value).pathname)) return { problem: `must be a URL ${path.form}` };
    return { value };
  });
}

/** `1` or `true` switches it on. */
export function flag(options: Common): Variable<boolean> {
  return variable(options, 'unset', false, (text) => {
    if (text === undefined || text === '0' || text === 'false') return { value: false };
    return text === '1' || text === 'true' ? { value: true } : { problem: `must be 1 or unset, not "${text}"` };
  });
}

/** Names separated by commas; `accepts` says which, and `form` in words. */
export function list(options: Common & { form?: string; accepts?: (item: string) => boolean }): Variable<readonly string[] | undefined> {
  const { form = 'names', accepts = (item) => item !== '' } = options;
  return variable<readonly string[] | undefined>(options, 'unset', false, (text) => {
    if (text === undefined) return { value: undefined };
    const items = text.split(',').map((item) => item.trim());
    return items.every(accepts) ? { value: items } : { problem: `must be ${form} separated by commas` };
  });
}

/**
 * Reads every variable of the spec. An empty variable counts as unset. `conflicts` names what is wrong between several variables, each
 * of them sound; those that are not are left out of what it is given.
 * @throws ConfigError that lists all problems.
 */
export function parseEnvironment<S extends Spec>(
  environment: Readonly<Record<string, string | undefined>>,
  spec: S,
  conflicts: (values: Partial<Values<S>>) => readonly string[] = () => [],
): Values<S> {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, entry] of Object.entries(spec)) {
    const result = entry.parse(environment[name] === '' ? undefined : environment[name]);
    if ('problem' in result) problems.push(`${name} ${result.problem}`);
    else values[name] = result.value;
  }
  problems.push(...conflicts(values as Partial<Values<S>>));
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(values) as Values<S>;
}

/** A table of every variable: its effective value (secrets masked), its default and its meaning. */
export function printEnvironment(environment: Readonly<Record<string, string | undefined>>, spec: Spec): string {
  const rows = Object.entries(spec).map(([name, entry]) => {
    const text = environment[name] === '' ? undefined : environment[name];
    const shown = text === undefined ? undefined : entry.secret ? '***' : maskCredentials(text);
    const unset = entry.required ? 'required' : (entry.defaultText ?? 'unset');
    return { name, value: shown ?? unset, fallback: entry.required ? '(required)' : `(default ${unset})`, about: entry.about };
  });
  const width = (column: keyof (typeof rows)[number]): number => Math.max(...rows.map((row) => row[column].length));
  const [nameWidth, valueWidth, fallbackWidth] = [width('name'), width('value'), width('fallback')];
  return rows
    .map((row) => [row.name.padEnd(nameWidth), row.value.padEnd(valueWidth), row.fallback.padEnd(fallbackWidth), row.about].join('  '))
    .join('\n');
}

function checkPattern(value: string, { pattern, form }: { pattern?: RegExp; form?: string }): { value: string } | { problem: string } {
  return pattern === undefined || pattern.test(value) ? { value } : { problem: `must be ${form ?? `of the form ${pattern.source}`}` };
}

/** A password ends at the last `@` before the path, or before the next of several addresses: it may have some of its own. */
function maskCredentials(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text.replace(/(\/\/[^:/?#@]*):[^/?#]*@/g, '$1:***@');
  return text.replace(/((?:^|,)[^:,@]*):[^,]*@/g, '$1:***@');
}
