import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arrayText, damaged, jsonText, keyText, objectTextOf, oracle, shardText, stringText, valueText } from '../test/json-texts.js';
import { decodeEnvelope, decodeRecipients, type Envelope, MALFORMED_REASONS, type MalformedReason } from './envelope.js';
import { DEFINED_EVENT_TYPES, isReservedType } from './event-types.js';
import { decodeText, encodeText, keyAt } from './json-text.js';

const decode = (text: string, needRecipients = false): Envelope | MalformedReason => decodeEnvelope(encodeText(text), needRecipients);
const textOf = (bytes: Uint8Array | undefined): string | undefined => bytes && decodeText(bytes);

function decoded(text: string, needRecipients = false): Envelope {
  const envelope = decode(text, needRecipients);
  if (typeof envelope === 'string') throw new Error(`${envelope}: ${text}`);
  return envelope;
}

// The contract once more, slow and plain, over what JSON.parse makes of the text.

const isId = (value: unknown): value is string =>
  typeof value === 'string' && /^[^\p{Surrogate}\p{Cc}]+$/u.test(value) && value.length <= 128;
const reservedTypes = /^(hello|typing|reconnect|pong|error|presence.*|(sync|token|auth)\..*)$/s;

function reasonOf(text: string, needRecipients: boolean): MalformedReason | undefined {
  const json = oracle(text);
  if (json === undefined) return 'not_json';
  const { value } = json;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not_object';
  const { type, recipients, payload } = Object.fromEntries(Object.entries(value));
  if (typeof type !== 'string' || type === '') return 'no_type';
  if (reservedTypes.test(type)) return 'type_reserved';
  if (needRecipients && recipients === undefined) return 'recipients_missing';
  if (needRecipients && !(Array.isArray(recipients) && recipients.every(isId))) return 'recipients_invalid';
  const isPayloadObject = payload === undefined || (typeof payload === 'object' && payload !== null && !Array.isArray(payload));
  return type.startsWith('message.') && !isPayloadObject ? 'payload_invalid' : undefined;
}

const idText = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('"u1"', '"u2"', '"__proto__"', '"\\u00751"') },
  { weight: 1, arbitrary: valueText },
);
const typeText = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...DEFINED_EVENT_TYPES).chain(keyText) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('poll.closed', 'message.pinned', 'message', 'synced', 'helloo', 'Typing', 'authority').chain(keyText),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        'hello',
        'sync.complete',
        'sync.',
        'presence',
        'presence.snapshot',
        'presences',
        'typing',
        'reconnect',
        'token.x',
        'auth.ok',
        'pong',
        'error',
      )
      .chain(keyText),
  },
  { weight: 1, arbitrary: valueText },
);
const payloadText = fc.oneof(
  { weight: 4, arbitrary: objectTextOf(fc.oneof(keyText('sender_id'), stringText), fc.oneof(idText, valueText)) },
  { weight: 1, arbitrary: valueText },
);
const recipientsText = fc.oneof(
  { weight: 4, arbitrary: fc.array(idText, { maxLength: 4 }).map((ids) => `[${ids.join(',')}]`) },
  { weight: 1, arbitrary: valueText },
);

const memberText = (key: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(keyText(key), fc.constantFrom(':', ' : ', ':\n'), value).map((parts) => parts.join(''));
const often = { freq: 8, nil: '' };
const envelopeText = fc
  .tuple(
    fc.option(memberText('type', typeText), { ...often, freq: 30 }),
    fc.option(memberText('recipients', recipientsText), often),
    fc.option(memberText('payload', payloadText), often),
    fc.option(memberText('conversation_id', idText), often),
    fc.option(memberText('event_id', fc.oneof(stringText, valueText)), often),
    fc.option(memberText('occurred_at', fc.oneof(stringText, valueText)), often),
    // Duplicates and strangers: the last of equal keys wins.
    fc.option(memberText('type', typeText), { freq: 1, nil: '' }),
    fc.option(memberText('payload', payloadText), { freq: 1, nil: '' }),
    fc.option(
      fc.tuple(stringText, valueText).map(([key, value]) => `${key}:${value}`),
      { freq: 1, nil: '' },
    ),
  )
  .chain((members) => fc.shuffledSubarray(members, { minLength: members.length }))
  .map((members) => `{${members.filter((member) => member !== '').join(' ,')}}`);

const anyEnvelopeText = fc.oneof(
  { weight: 6, arbitrary: envelopeText },
  { weight: 2, arbitrary: damaged(envelopeText) },
  { weight: 1, arbitrary: jsonText },
  { weight: 1, arbitrary: shardText },
);

describe('any envelope', () => {
  test('is accepted or refused exactly as the contract says, and the reason is the right one', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(anyEnvelopeText, fc.boolean(), (text, needRecipients) => {
        const result = decode(text, needRecipients);
        const reason = typeof result === 'string' ? result : undefined;
        expect(reason).toBe(reasonOf(text, needRecipients));
        seen.set(reason ?? 'good', (seen.get(reason ?? 'good') ?? 0) + 1);
      }),
      { numRuns: 6000 },
    );
    // The generator reaches every answer often enough to mean something.
    for (const reason of ['good', ...MALFORMED_REASONS.slice(3)]) expect(seen.get(reason) ?? 0, reason).toBeGreaterThan(20);
  });

  test('survives with every field as JSON.parse reads it', () => {
    fc.assert(
      fc.property(envelopeText, fc.boolean(), (text, needRecipients) => {
        fc.pre(reasonOf(text, needRecipients) === undefined);
        const envelope = decoded(text, needRecipients);
        const value = Object.fromEntries(Object.entries(JSON.parse(text) as object));
        const ifString = (field: unknown): unknown => (typeof field === 'string' ? field : undefined);
        expect(envelope.type).toBe(value['type']);
        expect(envelope.eventId).toBe(ifString(value['event_id']));
        expect(envelope.occurredAt).toBe(ifString(value['occurred_at']));
        expect(envelope.conversationId).toBe(isId(value['conversation_id']) ? value['conversation_id'] : undefined);
        expect(envelope.recipients).toEqual(needRecipients ? [...new Set(value['recipients'] as string[])] : undefined);
        const payload: unknown = 'payload' in value ? value['payload'] : {};
        expect(JSON.parse(textOf(envelope.payload) ?? '')).toEqual(payload);
        const senderId = Object.entries(payload ?? {}).find(([key]) => key === 'sender_id')?.[1];
        expect(envelope.senderId).toBe(envelope.payloadMembers && isId(senderId) ? senderId : undefined);
      }),
      { numRuns: 2000 },
    );
  });

  test('keeps its payload and its raw fields byte for byte, as views and not as copies', () => {
    fc.assert(
      fc.property(valueText, valueText, valueText, stringText, (payload, eventId, occurredAt, conversationId) => {
        const text = ` {"payload" : ${payload} ,"type":"poll.closed","event_id":${eventId},"occurred_at": ${occurredAt},"conversation_id":${conversationId}}`;
        const bytes = encodeText(text);
        const envelope = decodeEnvelope(bytes, false);
        if (typeof envelope === 'string') throw new Error(envelope);
        expect(textOf(envelope.payload)).toBe(payload);
        expect(textOf(envelope.typeRaw)).toBe('"poll.closed"');
        expect(textOf(envelope.eventIdRaw)).toBe(eventId === 'null' ? undefined : eventId);
        expect(textOf(envelope.occurredAtRaw)).toBe(occurredAt === 'null' ? undefined : occurredAt);
        expect(textOf(envelope.conversationIdRaw)).toBe(conversationId);
        expect(envelope.payload.buffer).toBe(bytes.buffer);
      }),
    );
  });

  test("tells where its payload's members are", () => {
    fc.assert(
      fc.property(objectTextOf(stringText, valueText), (payload) => {
        const envelope = decoded(`{"type":"message.new","payload":${payload}}`);
        const members = envelope.payloadMembers ?? [];
        const entries = members.map(
          (m) =>
            [keyAt(envelope.payload, m), JSON.parse(textOf(envelope.payload.subarray(m.valueStart, m.valueEnd)) ?? '') as unknown] as const,
        );
        expect(Object.fromEntries(entries)).toEqual(JSON.parse(payload));
      }),
    );
  });

  test('may be any bytes at all: the answer is an envelope or a reason', () => {
    const holed = fc.tuple(envelopeText.map(encodeText), fc.nat(), fc.uint8Array({ maxLength: 3 })).map(([bytes, seed, noise]) => {
      bytes.set(noise.subarray(0, bytes.length), seed % Math.max(1, bytes.length - noise.length));
      return bytes;
    });
    fc.assert(
      fc.property(fc.oneof(holed, fc.uint8Array()), fc.boolean(), (bytes, needRecipients) => {
        const result = decodeEnvelope(bytes, needRecipients);
        if (typeof result === 'string') expect(MALFORMED_REASONS).toContain(result);
        // What is not UTF-8 is refused before; what is, is decided as its text is.
        const text = decodeText(bytes);
        if (text !== undefined) expect(typeof result === 'string' ? result : undefined).toBe(reasonOf(text, needRecipients));
      }),
      { numRuns: 1000 },
    );
  });

  test('may be a view into a larger buffer', () => {
    const bytes = encodeText('"}x{"type":"a","payload":{"n":1.0}}}');
    const envelope = decodeEnvelope(bytes.subarray(3, bytes.length - 1), false);
    expect(typeof envelope === 'string' ? envelope : textOf(envelope.payload)).toBe('{"n":1.0}');
  });
});

describe('reasons, one rule each', () => {
  const env = (fields: object): string => JSON.stringify({ type: 'message.new', recipients: ['u1'], payload: {}, ...fields });

  test.each<[string, string, MalformedReason]>([
    ['nothing', '', 'not_json'],
    ['text', 'hello', 'not_json'],
    ['a cut object', env({}).slice(0, -1), 'not_json'],
    ['something behind the object', `${env({})}x`, 'not_json'],
    ['a byte order mark', `\ufeff${env({})}`, 'not_json'],
    ['an array', '[{"type":"message.new"}]', 'not_object'],
    ['null', 'null', 'not_object'],
    ['a string', '"message.new"', 'not_object'],
    ['no type', env({ type: undefined }), 'no_type'],
    ['a type of another kind', env({ type: 42 }), 'no_type'],
    ['a null type', env({ type: null }), 'no_type'],
    ['an empty type', env({ type: '' }), 'no_type'],
    ['no recipients', env({ recipients: undefined }), 'recipients_missing'],
    ['null recipients', env({ recipients: null }), 'recipients_invalid'],
    ['recipients in a text', env({ recipients: 'u1' }), 'recipients_invalid'],
    ['recipients in an object', env({ recipients: { u1: true } }), 'recipients_invalid'],
    ['a number among the recipients', env({ recipients: ['u1', 7] }), 'recipients_invalid'],
    ['null among the recipients', env({ recipients: ['u1', null] }), 'recipients_invalid'],
    ['an empty recipient', env({ recipients: ['u1', ''] }), 'recipients_invalid'],
    ['a recipient that is too long', env({ recipients: ['u1', 'x'.repeat(129)] }), 'recipients_invalid'],
    ['a recipient with half a surrogate pair', env({ recipients: ['u1', '\ud800'] }), 'recipients_invalid'],
    ['a recipient with a control character', env({ recipients: ['u1\n'] }), 'recipients_invalid'],
    ['an array as a payload', env({ payload: [] }), 'payload_invalid'],
    ['null as a payload', env({ payload: null }), 'payload_invalid'],
    ['a text as a payload', env({ type: 'message.deleted', payload: 'x' }), 'payload_invalid'],
    ['a last payload that is no object', '{"type":"message.new","recipients":[],"payload":{},"payload":7}', 'payload_invalid'],
    // The earlier reason wins.
    ['no type and no recipients', '{"payload":[]}', 'no_type'],
    ['a reserved type and bad recipients', env({ type: 'pong', recipients: 7 }), 'type_reserved'],
    ['bad recipients and a bad payload', env({ recipients: 7, payload: 7 }), 'recipients_invalid'],
  ])('%s', (_, text, reason) => {
    expect(decode(text, true)).toBe(reason);
  });

  test.each([
    'hello',
    'typing',
    'reconnect',
    'pong',
    'error',
    'sync.complete',
    'sync.later',
    'presence',
    'presence.snapshot',
    'token.expiring',
    'auth.ok',
  ])('an event may not be called %s', (type) => {
    expect(decode(env({ type }), true)).toBe('type_reserved');
  });

  test.each([...DEFINED_EVENT_TYPES, 'poll.closed', 'sync', 'token', 'auth', 'errors', 'typing.started', 'hello.world'])(
    'an event may be called %s',
    (type) => {
      expect(isReservedType(type)).toBe(false);
      expect(decoded(env({ type }), true).type).toBe(type);
    },
  );
});

test('nobody may be addressed, and nobody is addressed twice', () => {
  expect(decoded('{"type":"a","recipients":[]}', true).recipients).toEqual([]);
  expect(decoded('{"type":"a","recipients":["u2","u1","u2"]}', true).recipients).toEqual(['u2', 'u1']);
});

test('recipients inside are not looked at when they came as a field of their own', () => {
  expect(decoded('{"type":"a","recipients":[7]}').recipients).toBeUndefined();
});

test('an absent payload is an empty object, and one of another kind passes where the contract allows it', () => {
  expect(textOf(decoded('{"type":"message.new"}').payload)).toBe('{}');
  expect(decoded('{"type":"message.new"}').payloadMembers).toEqual([]);
  expect(textOf(decoded('{"type":"receipt.read","payload":[1]}').payload)).toBe('[1]');
  expect(textOf(decoded('{"type":"poll.closed","payload":null}').payload)).toBe('null');
  expect(decoded('{"type":"poll.closed","payload":null}').payloadMembers).toBeUndefined();
});

test('a bad sender_id costs only the sender', () => {
  for (const senderId of ['7', 'null', '""', '"\\ud800"', '{}']) {
    expect(decoded(`{"type":"message.new","payload":{"sender_id":${senderId}}}`).senderId).toBeUndefined();
  }
  expect(decoded('{"type":"message.new","payload":{"sender_id":"a","sender_id":"b"}}').senderId).toBe('b');
  expect(decoded('{"type":"message.new","payload":{"nested":{"sender_id":"a"}}}').senderId).toBeUndefined();
});

test('escaped keys are understood', () => {
  expect(textOf(decoded('{"\\u0074ype":"message.new","pay\\u006coad":{"x":1}}').payload)).toBe('{"x":1}');
  expect(decoded('{"type":"message.new","payload":{"sender\\u005fid":"u1"}}').senderId).toBe('u1');
});

test('a payload of 20,000 nested arrays is an ordinary one', () => {
  const payload = '['.repeat(20_000) + ']'.repeat(20_000);
  expect(textOf(decoded(`{"type":"x.deep","payload":${payload}}`).payload)).toBe(payload);
});

describe('recipients as a field of their own', () => {
  test('are the ids of a JSON array, each once and in order, or invalid as a whole', () => {
    const recipients = fc.oneof(
      { weight: 3, arbitrary: recipientsText },
      { weight: 1, arbitrary: fc.oneof(arrayText, shardText, damaged(recipientsText)) },
    );
    fc.assert(
      fc.property(recipients, (text) => {
        const value = oracle(text)?.value;
        const expected = Array.isArray(value) && value.every(isId) ? [...new Set(value)] : 'recipients_invalid';
        expect(decodeRecipients(encodeText(text))).toEqual(expected);
      }),
      { numRuns: 1000 },
    );
  });

  test('that are not UTF-8 are invalid', () => {
    expect(decodeRecipients(new Uint8Array([0x5b, 0x22, 0xff, 0x22, 0x5d]))).toBe('recipients_invalid');
  });
});
