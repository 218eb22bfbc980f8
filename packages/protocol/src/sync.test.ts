import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { conversationId, userId } from '../test/frames.js';
import { damaged, objectText, oracle } from '../test/json-texts.js';
import { decodeText, encodeText } from './json-text.js';
import { decodeSyncPage, encodeSyncRequest, type SyncPage } from './sync.js';

const decode = (page: string | object): SyncPage | undefined =>
  decodeSyncPage(encodeText(typeof page === 'string' ? page : JSON.stringify(page)));
const payloads = (page: SyncPage | undefined): (string | undefined)[] | undefined => page?.events.map((event) => decodeText(event.payload));

const empty = { conversations: [], events: [], malformed: { conversations: 0, events: 0 } };
const group = { conversation_id: 'g1', type: 'group', title: 'Team', last_seq: 3 };
const direct = { conversation_id: 'd1', type: 'direct', peer_id: 'u2', last_seq: 0 };
const event = { type: 'message.new', conversation_id: 'g1', payload: { id: 'm1', seq: 1, sender_id: 'u2' } };

test('a page has conversations, events and perhaps a next one', () => {
  const page = decode({ conversations: [group, direct], events: [event], next_page: 'p2', later: 1 });
  expect(page?.conversations).toEqual([
    { conversationId: 'g1', type: 'group', title: 'Team', lastSeq: 3 },
    { conversationId: 'd1', type: 'direct', peerId: 'u2', lastSeq: 0 },
  ]);
  expect(page?.events).toMatchObject([{ type: 'message.new', conversationId: 'g1', senderId: 'u2', recipients: undefined }]);
  expect(page?.nextPage).toBe('p2');
  expect(decode({ conversations: [], events: [] })).toEqual(empty);
});

test('payloads pass byte for byte', () => {
  const text = '{"id":"m1","big":12345678901234567890, "x":1.0,"e":"\\u0041"}';
  expect(payloads(decode(`{"conversations":[],"events":[{"type":"message.new","payload":${text}}]}`))).toEqual([text]);
  fc.assert(
    fc.property(fc.array(objectText, { maxLength: 5 }), (texts) => {
      const events = texts.map((payload) => `{"payload": ${payload} , "type":"message.new"}`);
      expect(payloads(decode(`{"events":[${events.join(' , ')}],"conversations":[]}`))).toEqual(texts);
    }),
  );
});

test('events and conversations without a form are left out and counted, their neighbours stay', () => {
  const page = decode({
    conversations: [
      null,
      7,
      group,
      {},
      { ...group, type: 'channel' },
      { ...group, last_seq: -1 },
      { ...group, last_seq: '3' },
      { ...group, conversation_id: '' },
      direct,
    ],
    events: [
      null,
      7,
      { type: 5 },
      { payload: {} },
      event,
      { type: 'hello' },
      { type: 'message.new', payload: 7 },
      { type: 'receipt.read' },
    ],
  });
  expect(page?.conversations.map((c) => c.conversationId)).toEqual(['g1', 'd1']);
  expect(page?.events.map((e) => e.type)).toEqual(['message.new', 'receipt.read']);
  expect(page?.malformed).toEqual({ conversations: 7, events: 6 });
});

test('the conversations may be missing', () => {
  expect(decode({ events: [] })).toEqual(empty);
});

describe('a malformed page is undefined', () => {
  test.each([
    '',
    '{',
    '[]',
    'null',
    '{}',
    '{"conversations":[]}',
    '{"conversations":null,"events":[]}',
    '{"conversations":[],"events":{}}',
    '{"conversations":{},"events":[]}',
    '{"conversations":[],"events":null}',
  ])('%s', (text) => {
    expect(decode(text)).toBeUndefined();
  });

  test.each([7, '', true, {}, 'x'.repeat(4097)])('next_page %j', (nextPage) => {
    expect(decode({ conversations: [], events: [], next_page: nextPage })).toBeUndefined();
  });

  test('bytes that are not UTF-8', () => {
    const bytes = encodeText('{"conversations":[],"events":[{"type":"message.new","payload":{"text":"?"}}]}');
    expect(decodeSyncPage(bytes)).toBeDefined();
    bytes[bytes.indexOf(0x3f)] = 0xff;
    expect(decodeSyncPage(bytes)).toBeUndefined();
  });

  test('anything that JSON.parse refuses', () => {
    const page = JSON.stringify({ conversations: [group], events: [event], next_page: 'p2' });
    fc.assert(
      fc.property(damaged(fc.constant(page)), (text) => {
        if (oracle(text) === undefined) expect(decode(text)).toBeUndefined();
        else decode(text);
      }),
      { numRuns: 1000 },
    );
  });
});

test('a null next_page is the last page', () => {
  expect(decode({ conversations: [], events: [], next_page: null })).toEqual(empty);
});

test('a request names every conversation, `__proto__` among them, and leaves out what is absent', () => {
  fc.assert(
    fc.property(
      userId,
      fc.array(fc.tuple(conversationId, fc.nat())),
      fc.record({ since_ms: fc.nat(), page: fc.string() }, { requiredKeys: [] }),
      (user, entries, rest) => {
        const request = JSON.parse(encodeSyncRequest({ user_id: user, conversations: new Map(entries), ...rest })) as {
          conversations: object;
        };
        expect({ ...request, conversations: new Map(Object.entries(request.conversations)) }).toEqual({
          user_id: user,
          conversations: new Map(entries),
          ...rest,
        });
      },
    ),
  );
});
