import { expect, test } from 'vitest';
import { ratios, summarize } from './statistics.js';

test('the median of an even number of repetitions lies between the middle two', () => {
  expect(summarize([4, 1, 3, 2])).toEqual({ median: 2.5, min: 1, max: 4, samples: [4, 1, 3, 2] });
  expect(summarize([5, 1, 3]).median).toBe(3);
});

test('a ratio is taken repetition by repetition: a machine that was twice as slow for a while does not show', () => {
  expect(ratios([1, 2, 1], [4, 8, 4])).toEqual({ median: 0.25, min: 0.25, max: 0.25, samples: [0.25, 0.25, 0.25] });
});
