import { expect, test } from 'vitest';
import { CLOSE_CODES } from './close-codes.js';

test('the close codes are those of the contract', () => {
  const codes = new Map(Object.values(CLOSE_CODES).map(({ code, ...rule }) => [code, rule]));
  expect([...codes.keys()]).toEqual([1009, 1012, 4400, 4401, 4403, 4408, 4409, 4429, 4508]);
  expect(codes.get(1012)).toEqual({ reconnect: true, after: 'hint' });
  expect(codes.get(4401)).toEqual({ reconnect: true, after: 'new_token' });
});

test('only whom an administrator or a newer connection sent away stays away by itself', () => {
  const stayAway = Object.values(CLOSE_CODES).filter((rule) => !rule.reconnect);
  expect(stayAway.map((rule) => rule.code)).toEqual([4403, 4409]);
  for (const rule of Object.values(CLOSE_CODES)) expect(rule.after === 'never').toBe(!rule.reconnect);
});

test('one code means one thing to a client', () => {
  for (const a of Object.values(CLOSE_CODES)) for (const b of Object.values(CLOSE_CODES)) if (a.code === b.code) expect(a).toEqual(b);
});
