import { expect, test } from 'vitest';
import { CLOSE_CODES, closeRule } from './close-codes.js';

test('the table is the contract’s', () => {
  expect(Object.fromEntries(Object.entries(CLOSE_CODES).map(([code, rule]) => [code, rule.after]))).toEqual({
    1009: 'backoff',
    1012: 'hint',
    4400: 'backoff',
    4401: 'new_token',
    4403: 'never',
    4408: 'backoff',
    4409: 'never',
    4429: 'backoff',
    4508: 'backoff',
  });
});

test('only an administrator and a replacement end it', () => {
  const final = Object.values(CLOSE_CODES).filter((rule) => !rule.reconnect);
  expect(final.map((rule) => rule.reason)).toEqual(['administrator', 'replaced']);
});

test('a code that nobody has listed is a broken connection', () => {
  for (const code of [1000, 1001, 1006, 4999, undefined])
    expect(closeRule(code)).toEqual({ reason: 'network', reconnect: true, after: 'backoff' });
});

test('the table cannot be changed', () => {
  expect(Object.isFrozen(CLOSE_CODES)).toBe(true);
});
