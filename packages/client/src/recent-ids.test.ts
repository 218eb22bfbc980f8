import { expect, test } from 'vitest';
import { RecentIds } from './recent-ids.js';

test('an id is new once', () => {
  const ids = new RecentIds(10);
  expect([ids.add('a'), ids.add('a'), ids.add('__proto__'), ids.add('__proto__')]).toEqual([true, false, true, false]);
});

test('no more than its maximum is remembered: the oldest goes first', () => {
  const ids = new RecentIds(2);
  for (const id of ['a', 'b', 'c']) ids.add(id);
  expect([ids.add('c'), ids.add('b'), ids.add('a')]).toEqual([false, false, true]);
});
