import { expect, test } from 'vitest';
import { ReadSize } from './read-size.js';

test('a read asks for as many entries as it may while they are small, for fewer when they are large, and never for none', () => {
  const size = new ReadSize({ maxEntries: 256, maxBytes: 8000 });
  expect(size.entries).toBe(256);
  const asked = [
    [256, 2560],
    [256, 25_600],
    [80, 80_000],
    [8, 160_000],
    [0, 0],
    [1, 10],
  ].map(([entries = 0, bytes = 0]) => {
    size.learn(entries, bytes);
    return size.entries;
  });
  expect(asked).toEqual([256, 80, 8, 1, 1, 256]);
});

test('the first read may ask for fewer', () => {
  expect(new ReadSize({ maxEntries: 256, maxBytes: 8000, firstEntries: 16 }).entries).toBe(16);
});
