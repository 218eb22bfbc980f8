import { expect, test } from 'vitest';
import { summarize } from '../measure/statistics.js';
import type { ScenarioResult } from './result.js';
import { targetRows } from './targets.js';

function result(figures: Record<string, number>): ScenarioResult {
  const summaries = Object.fromEntries(Object.entries(figures).map(([id, value]) => [id, summarize([value])]));
  return { name: 'x', about: '', measuredAt: '', tookS: 0, figures: summaries, tables: [], plots: [], notes: [] };
}

const rowAbout = (words: string, figures: Record<string, number>) =>
  targetRows([result(figures)]).find(({ figure }) => figure.includes(words));

test('a target is met only when every figure of it is there and good enough', () => {
  const row = (two: number, twenty: number) =>
    rowAbout('concerns nobody', { 'skip/2/ratio/socket.io': two, 'skip/20/ratio/socket.io': twenty })?.verdict;
  expect(row(0.33, 0.2)).toBe('met');
  expect(row(0.34, 0.2)).toBe('not met');
  expect(rowAbout('concerns nobody', { 'skip/2/ratio/socket.io': 0.1 })?.verdict).toBe('not measured');
});

test('p99 is held against the best of the peers, whoever that is', () => {
  const figures = { 'latency/1500x20/p99/gateway': 2, 'latency/1500x20/p99/plain-ws': 1.9, 'latency/1500x20/p99/socket.io': 9 };
  const other = { 'latency/8800x2/p99/gateway': 1, 'latency/8800x2/p99/plain-ws': 2 };
  expect(rowAbout('p99 at equal load', { ...figures, ...other })?.verdict).toBe('not met');
  expect(rowAbout('p99 at equal load', { ...figures, ...other, 'latency/1500x20/p99/gateway': 1.8 })?.verdict).toBe('met');
});

test('a run without anything has no verdicts', () => {
  expect(new Set(targetRows([]).map(({ verdict }) => verdict))).toEqual(new Set(['not measured']));
});
