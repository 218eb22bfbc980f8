import { expect, test } from 'vitest';
import { decodeState } from './client-state.js';

test('a state comes through whole', () => {
  const state = { version: 1, user_id: 'u1', cursor: '5-0', last_seq: { c1: 7 }, needs_sync: { last_seq: { c1: 3 }, cursor: '2-0' } };
  expect(decodeState(JSON.parse(JSON.stringify(state)))).toEqual(state);
});

test.each([undefined, null, 'text', [], {}, { version: 2, last_seq: {} }])('%j is no state', (value) =>
  expect(decodeState(value)).toBe(undefined),
);

test('fields of a wrong form are left out, and the rest is kept', () => {
  const state = decodeState({ version: 1, user_id: 7, cursor: null, last_seq: { c1: 'x', c2: -1, c3: 4 }, needs_sync: 'yes' });
  expect(state).toEqual({ version: 1, user_id: undefined, cursor: undefined, last_seq: { c3: 4 }, needs_sync: undefined });
});

test('an id like __proto__ is an ordinary one', () => {
  expect(Object.entries(decodeState(JSON.parse('{"version":1,"last_seq":{"__proto__":4}}'))?.last_seq ?? {})).toEqual([['__proto__', 4]]);
});
