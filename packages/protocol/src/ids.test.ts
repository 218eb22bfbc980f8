import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asConversationId, asUserId, asUserIds, isId, MAX_ID_UNITS } from './ids.js';

test('an id is 1–128 UTF-16 units of well-formed Unicode without control characters', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary', maxLength: 140 }), fc.string({ unit: fc.nat(0xffff).map((n) => String.fromCharCode(n)) })),
      (text) => {
        const isWellFormed = !/[\p{Surrogate}\p{Cc}]/u.test(text);
        expect(isId(text)).toBe(isWellFormed && text.length >= 1 && text.length <= MAX_ID_UNITS);
      },
    ),
  );
});

test.each(['u1', '__proto__', 'constructor', 'toString', ' ', 'a b', 'Ж', '😀', 'a,b', 'x'.repeat(128), '😀'.repeat(64)])(
  '%j is an id',
  (id) => {
    expect(asUserId(id)).toBe(id);
    expect(asConversationId(id)).toBe(id);
  },
);

test.each([
  '',
  'x'.repeat(129),
  '😀'.repeat(65),
  'a\u0000',
  'a\nb',
  '\u007f',
  '\u0085',
  '\ud800',
  'a\udc00',
  '\ud83dx',
  7,
  null,
  undefined,
  {},
  ['u1'],
])('%j is no id', (value) => {
  expect(asUserId(value)).toBeUndefined();
  expect(asConversationId(value)).toBeUndefined();
});

test('a list of ids keeps each once and in order, and one bad id spoils it', () => {
  expect(asUserIds(['b', 'a', 'b', '__proto__', 'a'])).toEqual(['b', 'a', '__proto__']);
  expect(asUserIds([])).toEqual([]);
  for (const value of [['a', ''], ['a', 7], ['a', null], [['a']], 'a', { 0: 'a', length: 1 }, null, undefined])
    expect(asUserIds(value)).toBeUndefined();
});
