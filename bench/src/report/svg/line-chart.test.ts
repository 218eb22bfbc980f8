import { expect, test } from 'vitest';
import type { Plot } from '../result.js';
import { lineChart } from './line-chart.js';
import { scaleOf } from './scale.js';

const plot: Plot = {
  name: 'p',
  title: 'a < b & c',
  x: { label: 'x', scale: 'linear' },
  y: { label: 'y', scale: 'log' },
  series: [
    {
      name: 'gateway',
      points: [
        [0, 1],
        [10, 100],
        [5, Number.NaN],
      ],
    },
  ],
};

test('every finite point is drawn, and text is escaped', () => {
  const svg = lineChart(plot);
  expect(svg).toContain('a &lt; b &amp; c');
  expect(/<polyline points="([^"]*)"/.exec(svg)?.[1]?.split(' ')).toHaveLength(2);
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
});

test('a plot without a point is an empty chart, not a broken one', () => {
  expect(lineChart({ ...plot, series: [] })).not.toMatch(/NaN|Infinity|undefined/);
});

test('a linear axis begins at 0 and ends at a round number; a logarithmic one at powers of ten', () => {
  expect(scaleOf({ label: '', scale: 'linear' }, [3, 87]).ticks.map(({ at }) => at)).toEqual([0, 50, 100]);
  expect(scaleOf({ label: '', scale: 'log' }, [3, 870]).ticks.map(({ at }) => at)).toEqual([1, 10, 100, 1000]);
  expect(scaleOf({ label: '', scale: 'log' }, [1, 100]).position(10)).toBeCloseTo(0.5);
});
