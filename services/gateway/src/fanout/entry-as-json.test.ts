import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryAsJson } from './entry-as-json.js';

const bytes = (...texts: string[]) => texts.map((text) => Buffer.from(text));

test('fields become members in their order', () => {
  expect(entryAsJson(bytes('recipients', '["ü"]', 'envelope', '{"a":1}'))).toBe('{"recipients":"[\\"ü\\"]","envelope":"{\\"a\\":1}"}');
  expect(entryAsJson([])).toBe('{}');
});

test('bytes that are no UTF-8 are replaced', () => {
  expect(JSON.parse(entryAsJson([Buffer.from('envelope'), Buffer.of(0x41, 0xff, 0x42)]))).toEqual({ envelope: 'A\ufffdB' });
});

test('a long value is cut so that the whole is 64 KiB of valid JSON', () => {
  const json = entryAsJson(bytes('first', 'kept', 'envelope', 'я"'.repeat(500_000), 'after', 'x'));
  expect(Buffer.byteLength(json)).toBeLessThanOrEqual(65_536);
  expect(Buffer.byteLength(json)).toBeGreaterThan(65_500);
  expect(JSON.parse(json).first).toBe('kept');
});

test('whatever the bytes, it is valid JSON of at most 64 KiB', () => {
  const value = fc.oneof(
    fc.uint8Array({ maxLength: 50 }),
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text.repeat(3000))),
  );
  fc.assert(
    fc.property(fc.array(value, { maxLength: 8 }), (values) => {
      const json = entryAsJson(values.map((item) => Buffer.from(item)));
      expect(typeof JSON.parse(json)).toBe('object');
      expect(Buffer.byteLength(json)).toBeLessThanOrEqual(65_536);
    }),
    { numRuns: 200 },
  );
});
