import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientFrame, encodeClientFrame } from '../test/frames.js';
import { anyText, oracle } from '../test/json-texts.js';
import { type ClientFrame, type ClientFrameError, decodeClientFrame } from './client-frame.js';
import { encodeText } from './json-text.js';
import { FRAME_LIMITS } from './limits.js';

const decode = (frame: string | object, maxDepth: number = FRAME_LIMITS.maxDepth): ClientFrame | ClientFrameError =>
  decodeClientFrame(encodeText(typeof frame === 'string' ? frame : JSON.stringify(frame)), { maxDepth });
const errorOf = (frame: string | object, maxDepth?: number): string | undefined => {
  const decoded = decode(frame, maxDepth);
  return 'error' in decoded ? decoded.error : undefined;
};

test('every frame that a client sends is read as it was meant', () => {
  fc.assert(
    fc.property(clientFrame, (frame) => {
      expect(decode(encodeClientFrame(frame))).toEqual(frame);
    }),
  );
});

test('no text makes the decoder throw, and only what is not JSON is called so', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(errorOf(text) === 'bad_json').toBe(oracle(text) === undefined);
    }),
    { numRuns: 2000 },
  );
});

test('bytes that are not UTF-8 are not JSON', () => {
  expect(decodeClientFrame(new Uint8Array([0x22, 0xc3, 0x28, 0x22]), FRAME_LIMITS)).toMatchObject({ error: 'bad_json' });
});

test.each(['7', 'null', '"ping"', '[]', '[{"type":"ping"}]', '{}', '{"type":1}', '{"type":null}', '{"type":""}', '{"type":{}}'])(
  '%s is a bad frame',
  (text) => {
    expect(errorOf(text)).toBe('bad_frame');
  },
);

test.each(['from.the.future', 'Ping', 'hello', '__proto__', 'constructor', 'message.new'])('the type %s is unknown, not bad', (type) => {
  expect(errorOf({ type, conversations: 7 })).toBe('unknown_type');
});

test('unknown fields are ignored, and the last of equal keys wins', () => {
  expect(decode({ type: 'ping', unknown_field: { a: 1 } })).toEqual({ type: 'ping' });
  expect(decode('{"type":"auth","type":"ping"}')).toEqual({ type: 'ping' });
});

describe('depth', () => {
  const nested = (depth: number): string => `{"type":"ping","x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

  test('at the limit passes, one deeper does not', () => {
    expect(errorOf(nested(32))).toBeUndefined();
    expect(errorOf(nested(33))).toBe('too_deep');
    expect(errorOf(nested(17), 16)).toBe('too_deep');
  });

  test('is found before anything is parsed, also in what is no JSON', () => {
    expect(errorOf('['.repeat(60_000))).toBe('too_deep');
  });
});

describe('typing', () => {
  test.each([undefined, null, '', 7, {}, 'x'.repeat(129), 'a\n'])('with conversation_id %j is a bad frame', (conversationId) => {
    expect(errorOf({ type: 'typing', conversation_id: conversationId })).toBe('bad_frame');
  });
});

describe('auth', () => {
  test.each([undefined, null, '', 7, {}])('with token %j is a bad frame', (token) => {
    expect(errorOf({ type: 'auth', token })).toBe('bad_frame');
  });
});

describe('sync', () => {
  test.each([
    undefined,
    null,
    [],
    'x',
    7,
    { g1: 'seven' },
    { g1: -1 },
    { g1: 1.5 },
    { g1: 2 ** 53 },
    { g1: null },
    { g1: {} },
    { '': 1 },
    { ['x'.repeat(129)]: 1 },
    { 'a\n': 1 },
  ])('with conversations %j is a bad frame', (conversations) => {
    expect(errorOf({ type: 'sync', conversations })).toBe('bad_frame');
  });

  test('takes `__proto__` for the ordinary id that it is', () => {
    expect(decode('{"type":"sync","conversations":{"__proto__":3,"constructor":4}}')).toEqual({
      type: 'sync',
      conversations: new Map([
        ['__proto__', 3],
        ['constructor', 4],
      ]),
    });
  });

  test('goes on with a page token alone', () => {
    expect(decode({ type: 'sync', next: 'p2' })).toEqual({ type: 'sync', conversations: new Map(), next: 'p2' });
    expect(errorOf({ type: 'sync', next: 'p2', conversations: null })).toBe('bad_frame');
  });

  test('keeps a cursor of any form: it is judged when it is used', () => {
    expect(decode({ type: 'sync', conversations: {}, cursor: 'garbage' })).toMatchObject({ cursor: 'garbage' });
  });

  test('takes null for absent', () => {
    expect(decode({ type: 'sync', conversations: {}, cursor: null, next: null, ref: null })).toEqual({
      type: 'sync',
      conversations: new Map(),
    });
  });

  test.each([{ cursor: 7 }, { next: 7 }, { next: '' }, { next: 'x'.repeat(4097) }, { ref: 7 }, { ref: 'x'.repeat(129) }, { ref: {} }])(
    'with %j is a bad frame',
    (fields) => {
      expect(errorOf({ type: 'sync', conversations: {}, ...fields })).toBe('bad_frame');
    },
  );

  test('an error says which sync it answers', () => {
    expect(decode({ type: 'sync', conversations: 7, ref: 'r1' })).toMatchObject({ error: 'bad_frame', ref: 'r1' });
    expect(decode({ type: 'sync', conversations: {}, next: 7, ref: 'r1' })).toMatchObject({ error: 'bad_frame', ref: 'r1' });
    expect(decode({ type: 'sync', conversations: {}, cursor: 7, ref: 'r1' })).toMatchObject({ error: 'bad_frame', ref: 'r1' });
  });
});
