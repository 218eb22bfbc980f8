import { isId } from '@event-gateway/protocol';
import type { Field } from '../http/fields.js';

/** An object of conversation id → seq. It becomes a Map: `__proto__` is an ordinary id. */
export const seqsField: Field<ReadonlyMap<string, number>> = {
  read: (value) => {
    if (value === undefined || value === null) return { value: new Map() };
    if (typeof value !== 'object' || Array.isArray(value)) return problem;
    const seqs = new Map<string, number>();
    for (const [id, seq] of Object.entries(value)) {
      if (!isId(id) || typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 0) return problem;
      seqs.set(id, seq);
    }
    return { value: seqs };
  },
};

const problem = { problem: 'must be an object of conversation id → whole number' };
