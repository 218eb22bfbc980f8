import { expect, test } from 'vitest';
import { MetricsPage } from './metrics-page.js';

const page = new MetricsPage(`# HELP frames_total Frames.
# TYPE frames_total counter
frames_total{type="message.new",outcome="sent"} 3
frames_total{type="typing",outcome="sent"} 4
odd{text="a\\"b\\\\c\\nd"} 1.5e3
seconds_bucket{le="+Inf"} 7
empty NaN
`);

test('a value is the sum over the samples that carry the labels', () => {
  expect(page.value('frames_total')).toBe(7);
  expect(page.value('frames_total', { type: 'typing' })).toBe(4);
});

test('a name or a label that is not there is undefined, not 0', () => {
  expect(page.value('nothing')).toBeUndefined();
  expect(page.value('frames_total', { type: 'presence' })).toBeUndefined();
});

test('escaped label values and special numbers are read as they are meant', () => {
  expect(page.labelValues('odd', 'text')).toEqual(new Set(['a"b\\c\nd']));
  expect(page.value('odd')).toBe(1500);
  expect(page.value('seconds_bucket', { le: '+Inf' })).toBe(7);
  expect(page.value('empty')).toBeNaN();
});
