import { describe, expect, test } from 'vitest';
import { Backoff } from './backoff.js';

const rounds = (backoff: Backoff, count: number): number[] => Array.from({ length: count }, () => backoff.next());

describe('a back-off', () => {
  test('has a ceiling that doubles up to the maximum', () => {
    expect(rounds(new Backoff({ minMs: 50, maxMs: 1000, random: () => 1 }), 6)).toEqual([100, 200, 400, 800, 1000, 1000]);
  });

  test('spreads over everything between the minimum and the ceiling, so that a fleet does not come back at once', () => {
    expect(rounds(new Backoff({ minMs: 50, maxMs: 1000, random: () => 0 }), 3)).toEqual([50, 50, 50]);
    expect(rounds(new Backoff({ minMs: 50, maxMs: 1000, random: () => 0.5 }), 2)).toEqual([75, 125]);
  });

  test('waits briefly again after a success', () => {
    const backoff = new Backoff({ minMs: 50, maxMs: 1000, random: () => 1 });
    rounds(backoff, 5);
    backoff.reset();
    expect(backoff.next()).toBe(100);
  });

  test('stays at a maximum below twice the minimum', () => {
    expect(rounds(new Backoff({ minMs: 50, maxMs: 60, random: () => 1 }), 2)).toEqual([60, 60]);
  });
});
