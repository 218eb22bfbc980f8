import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { serverFrame } from '../test/frames.js';
import { anyText } from '../test/json-texts.js';
import { decodeServerFrame } from './decode-server-frame.js';
import { asConversationId } from './ids.js';
import { encodeFrame } from './server-frame.js';

test('every frame that the gateway makes is read as it was meant', () => {
  fc.assert(
    fc.property(serverFrame, (frame) => {
      expect(decodeServerFrame(encodeFrame(frame))).toEqual(frame);
    }),
    { numRuns: 500 },
  );
});

test('unknown fields are ignored', () => {
  fc.assert(
    fc.property(serverFrame, (frame) => {
      const extended = JSON.stringify({ ...(JSON.parse(encodeFrame(frame)) as object), later: { a: 1 } });
      expect(decodeServerFrame(extended)).toEqual(frame);
    }),
  );
});

test('no text makes the decoder throw', () => {
  fc.assert(
    fc.property(anyText, (text) => void decodeServerFrame(text)),
    { numRuns: 1000 },
  );
});

test('absent fields are left out, not null', () => {
  expect(encodeFrame({ type: 'pong' })).toBe('{"type":"pong"}');
  expect(encodeFrame({ type: 'pong', cursor: null })).toBe('{"type":"pong","cursor":null}');
});

test('a conversation called `__proto__` keeps its seq', () => {
  const conversations = new Map([['__proto__', 5]].map(([id, seq]) => [asConversationId(id) ?? fail(), Number(seq)] as const));
  const text = encodeFrame({ type: 'sync.complete', conversations, presence: [], has_more: false, cursor: null });
  expect(text).toContain('"conversations":{"__proto__":5}');
  expect(decodeServerFrame(text)).toMatchObject({ conversations });
});

const fail = (): never => {
  throw new Error('not an id');
};

describe('what is not a frame of the contract is undefined', () => {
  const valid: Record<string, object> = {
    hello: { connection_id: 'x', replica_id: 'r', user_id: 'u1', heartbeat_ms: 20_000, resumed: false, cursor: '1-0' },
    typing: { conversation_id: 'c1', user_id: 'u1', user_name: 'Alice' },
    presence: { user_id: 'u1', status: 'online', at_ms: 1 },
    'presence.snapshot': { presence: [{ user_id: 'u1', status: 'unknown', at_ms: 1 }] },
    'sync.complete': { conversations: { c1: 1 }, presence: [], has_more: false, cursor: '1-0' },
    'sync.required': { reason: 'gap', cursor: '1-0', after_ms: 1 },
    'token.expiring': { expires_in_ms: 1 },
    'auth.ok': { expires_in_ms: 1 },
    reconnect: { after_ms: 1 },
    error: { error: { code: 'bad_json', message: 'm' } },
  };

  test.each(Object.entries(valid))('%s without one of its fields, or with one of another kind', (type, fields) => {
    const decode = (frame: object): unknown => decodeServerFrame(JSON.stringify({ type, ...frame }));
    expect(decode(fields)).toBeDefined();
    for (const key of Object.keys(fields)) {
      expect(decode({ ...fields, [key]: undefined }), key).toBeUndefined();
      for (const value of [{ a: {} }, [7], -1])
        expect(decode({ ...fields, [key]: value }), `${key} ${JSON.stringify(value)}`).toBeUndefined();
    }
  });

  test.each([
    '',
    '[]',
    'null',
    '{}',
    '{"type":7}',
    '{"type":""}',
    '{"type":"pong","cursor":"now"}',
    '{"type":"sync.later","data":1}',
    '{"type":"presence","user_id":"u1","status":"unknown","at_ms":1}',
  ])('%s', (text) => {
    expect(decodeServerFrame(text)).toBeUndefined();
  });
});

describe('durable frames', () => {
  const message = {
    type: 'message.new',
    cursor: '1767225600000-0',
    conversation_id: 'c1',
    event_id: 'e1',
    occurred_at: '2026-01-01T00:00:00.000Z',
    message: { id: 'm42', seq: 42, sender_id: 'u1', text: '…', sender_name: 'Alice' },
    conversation: { type: 'group', title: 'Team' },
    stale: true,
  };

  test('carry messages under `message` and everything else under `data`', () => {
    expect(decodeServerFrame(JSON.stringify(message))).toEqual(message);
    const receipt = { type: 'receipt.read', conversation_id: 'c1', data: { seq: 7 } };
    expect(decodeServerFrame(JSON.stringify(receipt))).toEqual(receipt);
    for (const data of [null, 7, 'x', [], {}])
      expect(decodeServerFrame(JSON.stringify({ type: 'poll.closed', data }))).toEqual({ type: 'poll.closed', data });
  });

  test.each([
    { message: undefined },
    { message: [] },
    { cursor: 'x' },
    { cursor: null },
    { conversation: { type: 'channel' } },
    { conversation: null },
    { conversation_id: 7 },
  ])('with %j are none', (fields) => {
    expect(decodeServerFrame(JSON.stringify({ ...message, ...fields }))).toBeUndefined();
  });

  test('whose conversation is not known by a fault have a title of "…" and no type', () => {
    const frame = { ...message, conversation: { title: '…' } };
    expect(decodeServerFrame(JSON.stringify(frame))).toEqual(frame);
  });

  test('of other types need `data`', () => {
    expect(decodeServerFrame('{"type":"poll.closed"}')).toBeUndefined();
  });
});
