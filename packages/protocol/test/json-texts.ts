import fc from 'fast-check';

// JSON texts as publishers write them and as nobody should: spelled in all the ways that JSON allows, and broken in small ways.

const whitespace = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n', '  ');

/** Numbers that a double would damage are among them: they must pass as text. */
const numberText = fc.oneof(
  fc.constantFrom('0', '-0', '1.0', '1e5', '1E+5', '2e-7', '1e400', '12345678901234567890', '-9007199254740993', '0.1000'),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);

const escapedUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** The same string, with any unit written as `\uXXXX`. */
const spelled = (text: string): fc.Arbitrary<string> =>
  fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length }).map((escapes) => {
    const units = text.split('').map((unit, i) => {
      const isSurrogate = unit >= '\ud800' && unit <= '\udfff';
      if (escapes[i] === true || isSurrogate || unit < ' ') return escapedUnit(unit);
      return unit === '"' || unit === '\\' ? `\\${unit}` : unit;
    });
    return `"${units.join('')}"`;
  });

const plainString = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('__proto__', 'Привет', '😀', '\u0000'),
);

/** A JSON string, in one of its spellings. */
export const stringText: fc.Arbitrary<string> = fc.oneof(
  plainString.map((text) => JSON.stringify(text)),
  plainString.chain(spelled),
);

/** A key's JSON, now and then with escapes in it. */
export const keyText = (key: string): fc.Arbitrary<string> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(JSON.stringify(key)) }, { weight: 1, arbitrary: spelled(key) });

const listText = (open: string, items: fc.Arbitrary<string>, close: string): fc.Arbitrary<string> =>
  fc
    .tuple(fc.array(fc.tuple(whitespace, items, whitespace), { maxLength: 5 }), whitespace)
    .map(([parts, gap]) => `${open}${parts.length === 0 ? gap : parts.map((part) => part.join('')).join(',')}${close}`);

/** An object's text from `key` JSON and `value` JSON. */
export const objectTextOf = (key: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  listText(
    '{',
    fc.tuple(key, whitespace, whitespace, value).map(([k, before, after, v]) => `${k}${before}:${after}${v}`),
    '}',
  );

const { value, object, array } = fc.letrec<{ value: string; object: string; array: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('true', 'false', 'null'),
    numberText,
    stringText,
    tie('object'),
    tie('array'),
  ),
  object: objectTextOf(stringText, tie('value')),
  array: listText('[', tie('value'), ']'),
}));

/** Any JSON value's text, without whitespace around it. */
export const valueText: fc.Arbitrary<string> = value;
export const objectText: fc.Arbitrary<string> = object;
export const arrayText: fc.Arbitrary<string> = array;

/** Any JSON text. */
export const jsonText: fc.Arbitrary<string> = fc.tuple(whitespace, value, whitespace).map((parts) => parts.join(''));

const shards = '{ } [ ] , : " \\ \\u \\u00 / 0 1 - + . e E true false null tru nul \u0000 \u001f \u00a0 \ufeff \u2028 a A é'
  .split(' ')
  .concat(' ', '\n', '\v', '');

/** A text with a few shards put in or cut out: now and then still JSON, mostly not. */
export const damaged = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(text, fc.array(fc.tuple(fc.nat(), fc.constantFrom(...shards), fc.nat({ max: 3 })), { minLength: 1, maxLength: 3 }))
    .map(([whole, edits]) =>
      edits.reduce((edited, [seed, shard, cut]) => {
        const at = seed % (edited.length + 1);
        return edited.slice(0, at) + shard + edited.slice(at + cut);
      }, whole),
    )
    // A pair cut in two has no UTF-8.
    .map((edited) => edited.replaceAll(/\p{Surrogate}/gu, '\ufffd'));

/** Shards in a row. */
export const shardText: fc.Arbitrary<string> = fc.array(fc.constantFrom(...shards), { maxLength: 12 }).map((parts) => parts.join(''));

/** Everything from well-formed to hopeless. */
export const anyText: fc.Arbitrary<string> = fc.oneof(jsonText, damaged(jsonText), shardText, fc.string());

/** What JSON.parse says about the text: `{ value }`, or undefined when it throws. */
export function oracle(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
