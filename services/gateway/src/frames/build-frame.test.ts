import { decodeEnvelope, type Envelope, type UserId } from '@event-gateway/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FixedCards } from '../../test/frame-cards.js';
import { EventFrames } from './build-frame.js';

const viewer = 'viewer' as UserId;

function envelopeOf(text: string): Envelope {
  const envelope = decodeEnvelope(Buffer.from(text), false);
  if (typeof envelope === 'string') throw new Error(envelope);
  return envelope;
}

function frameText(text: string, cards: FixedCards, { cursor = null as string | null, to = viewer } = {}): string {
  return Buffer.from(new EventFrames(envelopeOf(text), cursor, cards).for(to)).toString();
}

function message(payload: string, type = 'message.new'): string {
  return `{"type":"${type}","payload":${payload}}`;
}

const people = (): FixedCards =>
  new FixedCards()
    .putUser('u1', { displayName: 'Alice', avatarUrl: 'https://a.test/u1.png' })
    .putUser('u2', { displayName: 'Bob' })
    .putUser('gone', 'absent')
    .putConversation('c1', { type: 'group', title: 'Team', avatarUrl: 'https://a.test/c1.png' })
    .putConversation('d1', { type: 'direct', title: 'Own title', participants: ['u1' as UserId, 'u2' as UserId] })
    .putConversation('d-gone', { type: 'direct', participants: ['u1' as UserId, 'gone' as UserId] })
    .putConversation('d-away', { type: 'direct', participants: ['u1' as UserId, 'unloaded' as UserId] })
    .putConversation('self', { type: 'direct', title: 'Notes', participants: ['u1' as UserId] })
    .putConversation('c-gone', 'absent');

describe('the shape of a frame', () => {
  test('a message goes under `message` with its sender and its conversation, as the contract shows it', () => {
    const text =
      '{"payload":{"id":"m42","seq":42,"sender_id":"u1","text":"hi"},"conversation_id":"c1","type":"message.new",' +
      '"occurred_at":"2026-01-01T00:00:00Z","event_id":"e1","recipients":["u9"]}';
    expect(frameText(text, people(), { cursor: '1767225600000-0' })).toBe(
      '{"type":"message.new","cursor":"1767225600000-0","conversation_id":"c1","event_id":"e1","occurred_at":"2026-01-01T00:00:00Z",' +
        '"message":{"id":"m42","seq":42,"sender_id":"u1","text":"hi","sender_name":"Alice","avatar_url":"https://a.test/u1.png"},' +
        '"conversation":{"type":"group","title":"Team","avatar_url":"https://a.test/c1.png"}}',
    );
  });

  test('another defined type goes under `data`, untouched, with its conversation', () => {
    const text = '{"type":"receipt.read","conversation_id":"c1","payload":{"sender_id":"u1","sender_name":"x"}}';
    expect(JSON.parse(frameText(text, people()))).toEqual({
      type: 'receipt.read',
      conversation_id: 'c1',
      data: { sender_id: 'u1', sender_name: 'x' },
      conversation: { type: 'group', title: 'Team', avatar_url: 'https://a.test/c1.png' },
    });
  });

  test('a generic type goes as it is, without cards, and its payload need not be an object', () => {
    const text = '{"type":"poll.closed","conversation_id":"c1","payload":[1.0,"x"]}';
    expect(frameText(text, people())).toBe('{"type":"poll.closed","conversation_id":"c1","data":[1.0,"x"]}');
  });

  test('a message type that the contract does not define gets its sender, and no conversation', () => {
    const frame = JSON.parse(frameText('{"type":"message.pinned","conversation_id":"c1","payload":{"sender_id":"u2"}}', people()));
    expect(frame).toEqual({ type: 'message.pinned', conversation_id: 'c1', message: { sender_id: 'u2', sender_name: 'Bob' } });
  });

  test('without a payload the body is an empty object', () => {
    expect(frameText('{"type":"x.y"}', people())).toBe('{"type":"x.y","data":{}}');
  });

  test('a frame outside of the stream has no cursor', () => {
    expect(JSON.parse(frameText('{"type":"x.y"}', people()))).not.toHaveProperty('cursor');
    expect(JSON.parse(frameText('{"type":"x.y"}', people(), { cursor: '5-1' }))).toHaveProperty('cursor', '5-1');
  });

  test('recipients never leave', () => {
    expect(frameText('{"type":"message.new","recipients":["secret"],"payload":{"sender_id":"u1"}}', people())).not.toContain('secret');
  });

  test('event_id and occurred_at pass as written, whatever they are', () => {
    expect(frameText('{"type":"x","event_id":12345678901234567890,"occurred_at":"a\\u0041"}', people())).toBe(
      '{"type":"x","event_id":12345678901234567890,"occurred_at":"a\\u0041","data":{}}',
    );
  });
});

describe('the sender of a message', () => {
  test('a card without an avatar gives only the name', () => {
    expect(frameText(message('{"sender_id":"u2"}'), people())).toBe(
      '{"type":"message.new","message":{"sender_id":"u2","sender_name":"Bob"}}',
    );
  });

  test('a missing card is "…" and stale', () => {
    expect(frameText(message('{"sender_id":"unloaded"}'), people())).toBe(
      '{"type":"message.new","message":{"sender_id":"unloaded","sender_name":"…"},"stale":true}',
    );
  });

  test.each(['{"sender_id":"gone"}', '{"sender_id":7}', '{"sender_id":""}', '{}'])('%s costs the card, and is not stale', (payload) => {
    const frame = JSON.parse(frameText(message(payload), people()));
    expect(frame.message.sender_name).toBe('…');
    expect(frame).not.toHaveProperty('stale');
  });

  test.each([
    ['last', '{"sender_id":"u1","sender_name":"Mallory"}'],
    ['first', '{"sender_name":"Mallory","sender_id":"u1"}'],
    ['in between', '{"sender_id":"u1","sender_name":"Mallory","n":1.0}'],
    ['twice', '{"sender_name":"Mallory","sender_id":"u1","sender_name":"Eve","n":1}'],
    ['neighbours', '{"n":1,"sender_name":"Mallory","avatar_url":"javascript:x","sender_id":"u1"}'],
    ['escaped', '{"sender_id":"u1","sender\\u005fname":"Mallory","\\u0061vatar_url":"x"}'],
    ['alone', '{"sender_name":"Mallory"}'],
    ['only the avatar', '{"avatar_url":"https://mallory.test/","sender_id":"u2"}'],
    ['with spaces', ' { "sender_name" : "Mallory" , "sender_id" : "u1" , "n" : 1.0 } '],
    ['an object', '{"sender_id":"u1","sender_name":{"a":[1,2,{"sender_name":"x"}]},"m":2}'],
  ])('what the payload calls itself is replaced: %s', (_, payload) => {
    const text = frameText(message(payload), people());
    expect(text).not.toMatch(/Mallory|mallory|Eve|javascript/);
    const senderId = (JSON.parse(payload) as { sender_id?: string }).sender_id;
    const name = senderId === 'u1' ? 'Alice' : senderId === 'u2' ? 'Bob' : '…';
    expect(JSON.parse(text).message.sender_name).toBe(name);
    expect(text.match(/sender_name":/g)).toHaveLength(1);
    expect(JSON.parse(text).message.avatar_url).toBe(senderId === 'u1' ? 'https://a.test/u1.png' : undefined);
  });

  test('what is nested keeps its names', () => {
    const payload = '{"sender_id":"u1","quoted":{"sender_name":"Carol","avatar_url":"c"}}';
    expect(frameText(message(payload), people())).toContain('"quoted":{"sender_name":"Carol","avatar_url":"c"}');
  });

  test('cutting keeps the other members as they were written, spaces included', () => {
    const payload = '{ "a" : 1.0 , "b":2 , "sender_name":"x" , "c" : -0 ,"d":1E2 }';
    expect(frameText(message(payload), people())).toBe(
      '{"type":"message.new","message":{ "a" : 1.0 , "b":2,"c" : -0 ,"d":1E2 ,"sender_name":"…"}}',
    );
  });
});

describe('the conversation of an event', () => {
  const inDialog = (id: string, sender = 'u1'): string =>
    `{"type":"message.new","conversation_id":"${id}","payload":{"sender_id":"${sender}"}}`;

  test('a direct dialog is titled after the other one, for each participant, and built once for each', () => {
    const frames = new EventFrames(envelopeOf(inDialog('d1')), null, people());
    const forAlice = frames.for('u1' as UserId);
    const forBob = frames.for('u2' as UserId);
    expect(JSON.parse(Buffer.from(forAlice).toString()).conversation).toEqual({ type: 'direct', title: 'Bob' });
    expect(JSON.parse(Buffer.from(forBob).toString()).conversation).toEqual({
      type: 'direct',
      title: 'Alice',
      avatar_url: 'https://a.test/u1.png',
    });
    expect(frames.for('u1' as UserId)).toBe(forAlice);
    expect(frames.for('u2' as UserId)).toBe(forBob);
  });

  test("a viewer who does not take part sees the card's own title", () => {
    expect(JSON.parse(frameText(inDialog('d1'), people())).conversation).toEqual({ type: 'direct', title: 'Own title' });
  });

  test("a dialog with oneself has the card's own title", () => {
    expect(JSON.parse(frameText(inDialog('self'), people(), { to: 'u1' as UserId })).conversation.title).toBe('Notes');
  });

  test('the other one does not exist: "…", not stale', () => {
    const frame = JSON.parse(frameText(inDialog('d-gone'), people(), { to: 'u1' as UserId }));
    expect(frame.conversation).toEqual({ type: 'direct', title: '…' });
    expect(frame).not.toHaveProperty('stale');
  });

  test('the other one\'s card is missing by a fault: "…" and stale', () => {
    const frame = JSON.parse(frameText(inDialog('d-away'), people(), { to: 'u1' as UserId }));
    expect(frame.conversation).toEqual({ type: 'direct', title: '…' });
    expect(frame.stale).toBe(true);
  });

  test('a conversation that does not exist is left out, and that is not stale', () => {
    const frame = JSON.parse(frameText(inDialog('c-gone'), people()));
    expect(frame).not.toHaveProperty('conversation');
    expect(frame).not.toHaveProperty('stale');
  });

  test('a conversation card that is missing by a fault: "…" and stale, once', () => {
    const text = frameText(inDialog('c-away', 'unloaded'), people());
    expect(JSON.parse(text).conversation).toEqual({ title: '…' });
    expect(text.match(/"stale":true/g)).toHaveLength(1);
  });

  test('a conversation_id that is no id passes as written and has no card', () => {
    const frame = JSON.parse(frameText('{"type":"message.new","conversation_id":7,"payload":{"sender_id":"u1"}}', people()));
    expect(frame).toEqual({
      type: 'message.new',
      conversation_id: 7,
      message: { sender_id: 'u1', sender_name: 'Alice', avatar_url: 'https://a.test/u1.png' },
    });
  });

  test('a group is built once for all viewers', () => {
    const frames = new EventFrames(envelopeOf(inDialog('c1')), '1-1', people());
    expect(frames.for('u1' as UserId)).toBe(frames.for('u2' as UserId));
  });
});

describe('payload fidelity', () => {
  const deep = `{"d":${'{"a":['.repeat(500)}1${']}'.repeat(500)}}`;
  const corpus: Record<string, string> = {
    'integers over 2^53': '{"seq":9007199254740993,"big":123456789012345678901234567890,"neg":-9223372036854775808}',
    'numbers as written': '{"a":1.0,"b":1.10,"c":1E5,"d":1e-7,"e":-0,"f":1e400,"g":0.1,"h":-0.0}',
    escapes: '{"t":"\\u0041\\n\\t\\"\\\\\\/\\u2028\\ud83d\\ude00 \\u0000"}',
    'lone surrogates in escapes': '{"t":"\\ud800 \\udfff","\\ud800":1}',
    emoji: '{"t":"😀👩‍👩‍👧‍👦 é \u2028 \u202e"}',
    'deep nesting': deep,
    'duplicate keys': '{"a":1,"a":2,"\\u0061":3,"b":{"x":1,"x":2}}',
    __proto__: '{"__proto__":{"polluted":true},"constructor":{"prototype":{"x":1}},"toString":"x"}',
    'key order': '{"z":1,"10":2,"a":3,"2":4,"b":{"9":1,"1":2}}',
    'names of the frame inside': '{"type":"hello","cursor":"0-0","stale":false,"message":{},"conversation":null}',
    spaces: '{ "a" :\t1 ,\n"b" : [ 1 , 2 ] }',
    '900 KB': `{"t":"${'ж'.repeat(450_000)}"}`,
    empty: '{}',
  };

  test.each(Object.entries(corpus))('%s passes byte for byte', (_, payload) => {
    const inner = payload.slice(1, -1);
    const asMessage = frameText(message(payload), people());
    expect(asMessage).toBe(`{"type":"message.new","message":{${inner}${inner === '' ? '' : ','}"sender_name":"…"}}`);
    expect(frameText(message(payload, 'poll.closed'), people())).toBe(`{"type":"poll.closed","data":${payload}}`);
    expect(() => JSON.parse(asMessage) as unknown).not.toThrow();
  });

  test('a frame always parses, and equals the one built from parsed objects', () => {
    fc.assert(
      fc.property(anyEvent(), anyPadding(), (event, pad) => {
        const cards = people();
        const text = JSON.stringify(event, null, pad);
        const frame = frameText(text, cards, { cursor: '7-7', to: 'u1' as UserId });
        expect(JSON.parse(frame)).toEqual(model(JSON.parse(text) as AnyEvent));
      }),
      { numRuns: 2000 },
    );
  });
});

interface AnyEvent {
  type: string;
  conversation_id?: string;
  event_id?: string;
  occurred_at?: string;
  payload?: Record<string, unknown>;
}

function anyEvent(): fc.Arbitrary<AnyEvent> {
  // Spelled with Map entries so that `__proto__` is an own member.
  const key = fc.oneof(fc.constantFrom('sender_name', 'avatar_url', 'sender_id', 'text', '__proto__', 'seq'), fc.string());
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom('u1', 'u2', 'gone', 'unloaded', 7, null));
  return fc.record(
    {
      type: fc.constantFrom('message.new', 'message.edited', 'message.other', 'receipt.read', 'reaction.added', 'any.thing'),
      conversation_id: fc.constantFrom('c1', 'd1', 'd-gone', 'd-away', 'self', 'c-gone', 'unloaded'),
      event_id: fc.string(),
      occurred_at: fc.string(),
      payload: fc.array(fc.tuple(key, value), { maxLength: 6 }).map((entries) => Object.fromEntries(entries)),
    },
    { requiredKeys: ['type'] },
  );
}

/** Whitespace between tokens, as publishers other than JSON.stringify write it. */
function anyPadding(): fc.Arbitrary<string> {
  return fc.constantFrom('', ' ', '\n\t ');
}

/** What the frame says, from objects: the slow way that the spliced one must agree with. */
function model(event: AnyEvent): unknown {
  const names = new Map<unknown, object>([
    ['u1', { sender_name: 'Alice', avatar_url: 'https://a.test/u1.png' }],
    ['u2', { sender_name: 'Bob' }],
  ]);
  const titles = new Map<unknown, object>([
    ['c1', { type: 'group', title: 'Team', avatar_url: 'https://a.test/c1.png' }],
    ['d1', { type: 'direct', title: 'Bob' }],
    ['d-gone', { type: 'direct', title: '…' }],
    ['d-away', { type: 'direct', title: '…' }],
    ['self', { type: 'direct', title: 'Notes' }],
    ['unloaded', { title: '…' }],
  ]);
  const isMessage = event.type.startsWith('message.');
  const isDefined = !['message.other', 'any.thing'].includes(event.type);
  const { sender_name: _, avatar_url: __, ...rest } = event.payload ?? {};
  const senderId = rest['sender_id'];
  const isSenderId = typeof senderId === 'string' && senderId !== '';
  const conversation = isDefined ? titles.get(event.conversation_id) : undefined;
  const isSenderMissing = isMessage && isSenderId && !names.has(senderId) && senderId !== 'gone';
  const isTitleMissing = isDefined && (event.conversation_id === 'd-away' || event.conversation_id === 'unloaded');
  const body = isMessage ? { message: { ...rest, ...(names.get(senderId) ?? { sender_name: '…' }) } } : { data: event.payload ?? {} };
  return {
    ...event,
    ...{ payload: undefined },
    cursor: '7-7',
    ...body,
    ...(conversation === undefined ? {} : { conversation }),
    ...(isSenderMissing || isTitleMissing ? { stale: true } : {}),
  };
}
