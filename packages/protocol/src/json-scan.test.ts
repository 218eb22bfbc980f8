import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText, arrayText, damaged, jsonText, objectText, oracle } from '../test/json-texts.js';
import { isDeeperThan } from './json-depth.js';
import { isJson, scanArray, scanObject } from './json-scan.js';
import { decodeText, encodeText, keyAt, keyEquals, stringAt } from './json-text.js';

const parse = (bytes: Uint8Array, start: number, end: number): unknown => JSON.parse(decodeText(bytes.subarray(start, end)) ?? '');
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** How deep objects and arrays nest, by recursion over the parsed value. */
function depthOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
}

describe('the scanner accepts exactly what JSON.parse accepts', () => {
  test('for any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const bytes = encodeText(text);
        const expected = oracle(text);
        expect(isJson(bytes, 0, bytes.length)).toBe(expected !== undefined);
        expect(scanObject(bytes, 0, bytes.length) !== undefined).toBe(expected !== undefined && isObject(expected.value));
        expect(scanArray(bytes, 0, bytes.length) !== undefined).toBe(expected !== undefined && Array.isArray(expected.value));
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    '',
    ' ',
    '0',
    '-',
    '-0',
    '00',
    '01',
    '-01',
    '1.',
    '.1',
    '1.e1',
    '1e',
    '1e+',
    '1E-0',
    '0x1',
    '+1',
    '1.0e+10',
    'NaN',
    'Infinity',
    '-Infinity',
    '"',
    '"a',
    '"\\"',
    '"\\x"',
    '"\\u12"',
    '"\\u12g4"',
    '"\\uD800"',
    '"\\u0000"',
    '"\u0000"',
    '"\u001f"',
    '"\u007f"',
    '"\t"',
    '"\u2028"',
    "'a'",
    'true',
    'tru',
    'truee',
    'True',
    'nul',
    'null',
    'nullnull',
    'undefined',
    '{',
    '}',
    '{}',
    '{]',
    '[}',
    '[]',
    '[1,]',
    '[,1]',
    '[1 2]',
    '[1,,2]',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{,}',
    '{a:1}',
    '{"a":1 "b":2}',
    '{"a"::1}',
    '{"a":1}}',
    '[[]',
    '[]]',
    '{} {}',
    '1 1',
    '\ufeff{}',
    '{}\ufeff',
    '\u00a0{}',
    '{}\u000b',
    '\n{}\r',
    '/**/{}',
    '[1]//',
    '{"a":[{"b":[]},{}],"c":{}}',
  ])('%j', (text) => {
    const bytes = encodeText(text);
    expect(isJson(bytes, 0, bytes.length)).toBe(oracle(text) !== undefined);
  });

  test('nesting of any depth costs no stack', () => {
    for (const text of ['['.repeat(200_000) + ']'.repeat(200_000), '{"a":['.repeat(100_000) + ']}'.repeat(100_000)]) {
      const bytes = encodeText(text);
      expect(isJson(bytes, 0, bytes.length)).toBe(true);
      expect(isJson(bytes, 0, bytes.length - 1)).toBe(false);
    }
  });

  test('bytes outside of the range are not looked at', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.oneof(jsonText, damaged(jsonText)),
        fc.constantFrom('', '"', '}', ']', '0', ',1', '\\', 'e1', '00"}]'),
        (before, text, after) => {
          const [head, body, tail] = [encodeText(before), encodeText(text), encodeText(after)];
          const bytes = new Uint8Array([...head, ...body, ...tail]);
          expect(isJson(bytes, head.length, head.length + body.length)).toBe(oracle(text) !== undefined);
        },
      ),
    );
  });
});

test("an object's members are the members of JSON.parse, in order and byte for byte", () => {
  fc.assert(
    fc.property(objectText, (text) => {
      const bytes = encodeText(text);
      const members = scanObject(bytes, 0, bytes.length) ?? [];
      const entries = members.map((member) => [keyAt(bytes, member), parse(bytes, member.valueStart, member.valueEnd)] as const);
      expect(Object.fromEntries(entries)).toEqual(JSON.parse(text));
      for (const member of members) {
        expect(parse(bytes, member.keyStart - 1, member.keyEnd + 1)).toBe(keyAt(bytes, member));
        expect(decodeText(bytes.subarray(member.valueStart, member.valueEnd))).not.toMatch(/^\s|\s$/u);
      }
    }),
  );
});

test("an array's elements are those of JSON.parse", () => {
  fc.assert(
    fc.property(arrayText, (text) => {
      const bytes = encodeText(text);
      expect((scanArray(bytes, 0, bytes.length) ?? []).map(({ start, end }) => parse(bytes, start, end))).toEqual(JSON.parse(text));
    }),
  );
});

test('a string is read as JSON.parse reads it, anything else is no string', () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      const bytes = encodeText(text.trim());
      const { value } = oracle(text) ?? {};
      expect(stringAt(bytes, 0, bytes.length)).toBe(typeof value === 'string' ? value : undefined);
    }),
  );
});

test('a long string and a string with escapes are read whole', () => {
  for (const value of ['x'.repeat(300), `${'x'.repeat(39)}é`, 'a"b', '\\', 'ж'.repeat(50), 'tab\t']) {
    const bytes = encodeText(JSON.stringify(value));
    expect(stringAt(bytes, 0, bytes.length)).toBe(value);
  }
});

test('a key is recognised however it is escaped', () => {
  const cases = {
    payload: true,
    'pay\\u006coad': true,
    '\\u0070\\u0061yload': true,
    payloae: false,
    'payload\\u0000': false,
    payloads: false,
    pay: false,
    'pay\\u006coae': false,
  };
  for (const [key, isPayload] of Object.entries(cases)) {
    const bytes = encodeText(`{"${key}":1}`);
    const member = scanObject(bytes, 0, bytes.length)?.[0];
    expect(member !== undefined && keyEquals(bytes, member, 'payload'), key).toBe(isPayload);
  }
});

test('a depth limit refuses exactly what nests deeper', () => {
  const nested = fc.jsonValue({ maxDepth: 7, depthSize: 'large' }).filter((value) => typeof value === 'object' && value !== null);
  fc.assert(
    fc.property(nested, fc.integer({ min: 0, max: 6 }), (value, maxDepth) => {
      const bytes = encodeText(JSON.stringify(value));
      expect(isDeeperThan(bytes, maxDepth)).toBe(depthOf(value) > maxDepth);
    }),
  );
});

test('brackets inside strings are no depth', () => {
  expect(isDeeperThan(encodeText('{"a":"[[[[\\"[[["}'), 1)).toBe(false);
  expect(isDeeperThan(encodeText('{"a":"\\\\",  "b":[[]]}'), 2)).toBe(true);
  expect(isDeeperThan(encodeText('['.repeat(100_000)), 32)).toBe(true);
});
