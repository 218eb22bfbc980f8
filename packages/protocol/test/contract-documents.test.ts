import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CLOSE_CODES,
  DEFINED_EVENT_TYPES,
  encodeControlMessage,
  encodeConversationCard,
  encodeConversationChanged,
  encodeFrame,
  encodePresenceMessage,
  encodeSyncRequest,
  encodeTypingMessage,
  encodeUserCard,
  encodeUserUpdated,
  FRAME_ERROR_CODES,
  FRAME_LIMITS,
  HTTP_REFUSAL_STATUS,
  isId,
  isReservedType,
  isStreamId,
  MALFORMED_REASONS,
  UPGRADE_REFUSAL_STATUS,
} from '../src/index.js';
import {
  asyncApi,
  type Document,
  type DocumentName,
  type HttpExchange,
  locate,
  messagesOf,
  openApi,
  schemaAt,
  validateChannelMessage,
  validateClientFrame,
  validateDeadLetter,
  validateEntry,
  validateHttp,
  validateServerFrame,
} from './contract-documents.js';
import { clientFrame, conversationId, encodeClientFrame, serverFrame, userId } from './frames.js';

type Node = Readonly<Record<string, unknown>>;

/** Every object in a document with its pointer. */
function* nodesOf(node: unknown, pointer = ''): Generator<readonly [string, Node]> {
  if (typeof node !== 'object' || node === null) return;
  yield [pointer, node as Node];
  for (const [key, value] of Object.entries(node)) yield* nodesOf(value, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
}

describe.each<[DocumentName, Document]>([
  ['asyncapi', asyncApi],
  ['openapi', openApi],
])('%s.yaml', (name, document) => {
  const nodes = [...nodesOf(document)];

  test('says nothing by accident: every key has a value, every reference leads somewhere', () => {
    for (const [pointer, node] of nodes) {
      for (const [key, value] of Object.entries(node)) expect(value, `${pointer}/${key}`).not.toBeNull();
      const reference = node['$ref'];
      if (typeof reference === 'string') expect(locate(name, reference.slice(1)).node, `${pointer} → ${reference}`).toBeDefined();
    }
  });

  test('has schemas that compile, open and closed', () => {
    const pointers = nodes
      .map(([pointer]) => pointer)
      .filter((p) => /^\/components\/schemas\/[^/]+$|\/content\/[^/]+\/schema$|\/parameters\/\d+\/schema$/.test(p));
    expect(pointers.length).toBeGreaterThan(20);
    for (const pointer of pointers)
      for (const mode of ['open', 'closed'] as const) expect(() => schemaAt(name, pointer, mode), pointer).not.toThrow();
  });

  test('has no schema that nothing refers to', () => {
    const references = new Set(nodes.map(([, node]) => node['$ref']));
    for (const schema of Object.keys((document['components'] as { schemas: object }).schemas))
      expect(references, schema).toContain(`#/components/schemas/${schema}`);
  });
});

describe('what the code knows as a closed set, the documents know as the same set', () => {
  const enumAt = (document: DocumentName, pointer: string): unknown => locate(document, pointer).node;

  test('frames', () => {
    const ours = new Set(fc.sample(serverFrame, 1000).map((frame) => frame.type));
    expect(new Set(messagesOf('sendServerFrames').keys())).toEqual(new Set([...ours, ...DEFINED_EVENT_TYPES, 'any other type']));
    const clients = new Set(fc.sample(clientFrame, 100).map((frame) => frame.type));
    expect(new Set(messagesOf('receiveClientFrames').keys())).toEqual(clients);
  });

  test('error codes', () => {
    expect(enumAt('asyncapi', '/components/schemas/ErrorFrame/properties/error/properties/code/enum')).toEqual(FRAME_ERROR_CODES);
  });

  test('reasons of malformed entries', () => {
    expect(enumAt('asyncapi', '/components/schemas/DeadLetter/properties/reason/enum')).toEqual(MALFORMED_REASONS);
  });

  test('close codes', () => {
    const documented = asyncApi['channels'] as { socket: { 'x-close-codes': { code: number; reconnect: boolean; after: string }[] } };
    const rules = documented.socket['x-close-codes'].map(({ code, reconnect, after }) => [code, { code, reconnect, after }] as const);
    expect(new Map(rules)).toEqual(new Map(Object.values(CLOSE_CODES).map((rule) => [rule.code, rule])));
  });

  test('limits', () => {
    expect(asyncApi['channels']).toMatchObject({ socket: { 'x-limits': FRAME_LIMITS } });
  });

  test('refusals, by status', () => {
    for (const [code, status] of Object.entries(UPGRADE_REFUSAL_STATUS)) {
      const headers = { 'retry-after': '3' };
      expect(
        validateHttp({ method: 'GET', path: '/api/v1/ws?token=x', status, headers, body: { error: { code, message: 'm' } } }),
        code,
      ).toEqual([]);
    }
    const documented = new Set<string>();
    for (const [, node] of nodesOf(locate('openapi', '/components/schemas').node)) {
      for (const code of [node['const'], node['enum']].flat()) if (typeof code === 'string') documented.add(code);
    }
    for (const code of [...Object.keys(UPGRADE_REFUSAL_STATUS), ...Object.keys(HTTP_REFUSAL_STATUS)]) {
      if (code !== 'method_not_allowed') expect(documented).toContain(code);
    }
  });

  test('ids, stream ids and reserved types', () => {
    const id = schemaAt('asyncapi', '/components/schemas/Id');
    // JSON Schema counts code points, the contract UTF-16 units; and it has no word for half a surrogate pair.
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        expect(id(text)).toBe(isId(text));
      }),
    );
    const streamId = schemaAt('asyncapi', '/components/schemas/StreamId');
    for (const value of ['0-0', '1767225600000-12', '01-0', '1-', '1', '', 'x', '1-00'])
      expect(streamId(value), value).toBe(isStreamId(value));
    const eventType = schemaAt('asyncapi', '/components/schemas/EventType');
    const types = fc.oneof(
      fc.constantFrom(
        'hello',
        'sync.',
        'sync.a',
        'sync',
        'presence',
        'presences',
        'token',
        'token.x',
        'auth.x',
        'authx',
        'pong',
        'error',
        'typing',
        'reconnect',
        'a.hello',
        ...DEFINED_EVENT_TYPES,
      ),
    );
    fc.assert(
      fc.property(types, fc.constantFrom('', '.x', 'x'), (type, suffix) => {
        expect(eventType(type + suffix)).toBe(!isReservedType(type + suffix));
      }),
    );
  });
});

describe('what the encoders write is what the documents say', () => {
  test('server frames, with nothing added and nothing missing', () => {
    fc.assert(
      fc.property(serverFrame, (frame) => {
        const wire = JSON.parse(encodeFrame(frame)) as object;
        expect(validateServerFrame(wire)).toEqual([]);
        expect(validateServerFrame({ ...wire, recipients: [] })).not.toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test('client frames', () => {
    fc.assert(
      fc.property(clientFrame, (frame) => {
        expect(validateClientFrame(JSON.parse(encodeClientFrame(frame)))).toEqual([]);
      }),
    );
  });

  test('pub/sub messages', () => {
    fc.assert(
      fc.property(userId, conversationId, fc.nat(), (user, conversation, at) => {
        const card = { userId: user, displayName: 'Alice', avatarUrl: 'https://a.test/1' };
        const messages = {
          'gateway.presence': [
            encodePresenceMessage({ userId: user, status: 'online', atMs: at }),
            encodePresenceMessage({ userId: user, status: 'offline', atMs: at, lastSeenMs: at }),
          ],
          'gateway.typing': [encodeTypingMessage({ conversationId: conversation, userId: user, recipients: [user] })],
          'gateway.control': [encodeControlMessage({ op: 'disconnect', userId: user, code: 4403, reason: '' })],
          'user.updated': [encodeUserUpdated({ userId: user }), encodeUserUpdated({ userId: user, card })],
          'conversation.updated': [encodeConversationChanged({ conversationId: conversation })],
          'member.changed': [encodeConversationChanged({ conversationId: conversation })],
        };
        for (const [channel, texts] of Object.entries(messages))
          for (const text of texts) expect(validateChannelMessage(channel, JSON.parse(text)), channel).toEqual([]);
      }),
    );
  });

  test('cards and sync requests', () => {
    fc.assert(
      fc.property(userId, conversationId, fc.nat(), (user, conversation, seq) => {
        const card = (path: string, body: string) => validateHttp({ method: 'GET', path, status: 200, body: JSON.parse(body) });
        expect(card('/internal/users/u1/card', encodeUserCard({ userId: user, displayName: 'Alice' }))).toEqual([]);
        expect(
          card(
            '/internal/conversations/c1/card',
            encodeConversationCard({ conversationId: conversation, type: 'direct', participants: [user] }),
          ),
        ).toEqual([]);
        const request: unknown = JSON.parse(
          encodeSyncRequest({ user_id: user, conversations: new Map([[conversation, seq]]), since_ms: seq, page: 'p' }),
        );
        expect(
          validateHttp({ method: 'POST', path: '/internal/sync', request, status: 200, body: { conversations: [], events: [] } }),
        ).toEqual([]);
      }),
    );
  });
});

describe('durable frames', () => {
  const live = {
    type: 'message.new',
    cursor: '1767225600000-0',
    conversation_id: 'c1',
    event_id: 'e1',
    occurred_at: '2026-01-01T00:00:00Z',
  };
  const message = { id: 'm42', seq: 42, sender_id: 'u1', text: '…', sender_name: 'Alice', avatar_url: 'https://a.test/1', later: { a: 1 } };
  const conversation = { type: 'group', title: 'Team' };

  test.each<[string, object]>([
    ['live', { ...live, message, conversation }],
    ['with a card missing by a fault', { ...live, message: { ...message, sender_name: '…' }, conversation: { title: '…' }, stale: true }],
    ['synced', { type: 'message.new', conversation_id: 'c1', message, conversation }],
    ['with a payload of its own', { type: 'message.edited', message: {} }],
    [
      'a receipt',
      {
        type: 'receipt.read',
        cursor: '1-0',
        conversation_id: 'c1',
        data: { seq: 7 },
        conversation: { type: 'direct', title: 'Bob', avatar_url: 'x' },
      },
    ],
    ['generic', { type: 'poll.closed', cursor: '1-0', data: [1] }],
    ['generic, with a null payload', { type: 'poll.closed', data: null }],
    ['generic message', { type: 'message.pinned', cursor: '1-0', message }],
  ])('%s', (_, frame) => {
    expect(validateServerFrame(frame)).toEqual([]);
  });

  test.each<[string, object]>([
    ['recipients', { ...live, message, recipients: ['u1'] }],
    ['a null cursor', { ...live, message, cursor: null }],
    ['stale: false', { ...live, message, stale: false }],
    ['data in a message', { ...live, data: {} }],
    ['a message in a receipt', { type: 'receipt.read', message }],
    ['participants in the header', { ...live, message, conversation: { ...conversation, participants: [] } }],
    ['a conversation with a generic event', { type: 'poll.closed', data: 1, conversation }],
    ['a reserved type', { type: 'sync.later', data: 1 }],
    ['no type', { data: 1 }],
  ])('never have %s', (_, frame) => {
    expect(validateServerFrame(frame)).not.toEqual([]);
  });
});

describe('entries', () => {
  const envelope = {
    type: 'message.new',
    event_id: 'e1',
    conversation_id: 'c1',
    payload: { id: 'm1' },
    occurred_at: '2026-01-01T00:00:00Z',
    traceparent: '00-0-0-00',
  };
  const slow = JSON.stringify({ ...envelope, recipients: ['u1'] });

  test('come in the fast form and in the slow one, under four names', () => {
    expect(validateEntry({ recipients: '["u1"]', envelope: JSON.stringify(envelope) })).toEqual([]);
    for (const field of ['envelope', 'event', 'data', 'payload']) expect(validateEntry({ [field]: slow }), field).toEqual([]);
    expect(validateChannelMessage('messenger.events', JSON.parse(slow))).toEqual([]);
  });

  test.each<[string, Record<string, string>]>([
    ['without recipients', { envelope: JSON.stringify(envelope) }],
    ['with a recipient that is no id', { recipients: '["u1",""]', envelope: JSON.stringify(envelope) }],
    ['without a type', { recipients: '[]', envelope: '{}' }],
    ['with a reserved type', { recipients: '[]', envelope: '{"type":"pong"}' }],
    ['with a message that is no object', { recipients: '[]', envelope: '{"type":"message.new","payload":7}' }],
    ['without an envelope', { recipients: '[]' }],
  ])('%s are not documented', (_, fields) => {
    expect(validateEntry(fields)).not.toEqual([]);
  });

  test('that are malformed have a place too', () => {
    const letter = { id: '1-0', reason: 'not_json', replica: 'gateway-1', at_ms: '1767225600000', entry: '{"envelope":"hello"}' };
    expect(validateDeadLetter(letter)).toEqual([]);
    expect(validateDeadLetter({ ...letter, reason: 'bad_mood' })).not.toEqual([]);
  });
});

describe('HTTP', () => {
  const replica = {
    replica_id: 'gateway-1',
    incarnation: 'a1',
    started_at: '2026-01-01T00:00:00Z',
    connections: 1,
    users: 1,
    lag_entries: null,
    lag_seconds: 0.5,
    pending: 0,
    draining: false,
  };
  const event = { type: 'message.new', conversation_id: 'c1', payload: { id: 'm1', seq: 1 } };
  const error = (code: string): object => ({ error: { code, message: 'm' } });

  test.each<HttpExchange>([
    {
      method: 'GET',
      path: '/internal/presence?users=u1,u2',
      status: 200,
      body: { presence: { u1: { status: 'online' }, u2: { status: 'offline', last_seen: '2026-01-01T00:00:00.000Z' } } },
    },
    {
      method: 'POST',
      path: '/internal/presence',
      request: { users: ['u1'] },
      status: 200,
      body: { presence: { u1: { status: 'unknown' } }, degraded: true },
    },
    { method: 'GET', path: '/internal/presence', status: 400, body: error('bad_request') },
    { method: 'POST', path: '/internal/users/u1/disconnect', request: { code: 4403, reason: 'x' }, status: 202 },
    { method: 'POST', path: '/internal/users/u1/disconnect', status: 503, body: error('redis_unavailable') },
    { method: 'GET', path: '/internal/replicas', status: 200, body: { replicas: [replica] } },
    { method: 'GET', path: '/internal/replicas', status: 401, body: error('unauthorized') },
    { method: 'GET', path: '/healthz', status: 200, body: { alive: true } },
    { method: 'GET', path: '/readyz', status: 200, body: { ready: true } },
    { method: 'GET', path: '/readyz', status: 200, body: { ready: true, degraded: ['redis'] } },
    {
      method: 'GET',
      path: '/readyz',
      status: 503,
      body: { ready: false, reasons: ['jwks', 'fence', 'backlog', 'canary', 'redis', 'draining'] },
    },
    { method: 'GET', path: '/metrics', status: 200, body: '# HELP\n' },
    { method: 'GET', path: '/api/v1/ws', status: 426, body: error('upgrade_required') },
    {
      method: 'GET',
      path: '/internal/users/u1/card',
      status: 200,
      body: { user_id: 'u1', display_name: 'Alice', avatar_url: null, later: 1 },
    },
    { method: 'GET', path: '/internal/users/u1/card', status: 404 },
    {
      method: 'GET',
      path: '/internal/conversations/c1/card',
      status: 200,
      body: { conversation_id: 'c1', type: 'group', title: 'Team', participants: ['u1'] },
    },
    {
      method: 'POST',
      path: '/internal/sync',
      request: { user_id: 'u1', conversations: { c1: 3 } },
      status: 200,
      body: { conversations: [{ conversation_id: 'c1', type: 'direct', peer_id: 'u2', last_seq: 4 }], events: [event], next_page: 'p2' },
    },
    {
      method: 'GET',
      path: '/.well-known/jwks.json',
      status: 200,
      body: { keys: [{ kty: 'RSA', kid: '1', alg: 'RS256', use: 'sig', n: 'n', e: 'AQAB' }] },
    },
  ])('$method $path → $status is documented', (exchange) => {
    expect(validateHttp(exchange)).toEqual([]);
  });

  test.each<[string, HttpExchange]>([
    ['another path', { method: 'GET', path: '/internal', status: 200 }],
    ['another method', { method: 'DELETE', path: '/internal/replicas', status: 200 }],
    ['another status', { method: 'GET', path: '/healthz', status: 500 }],
    ['another code', { method: 'GET', path: '/api/v1/ws', status: 401, body: error('token_eaten') }],
    ['a code of another status', { method: 'GET', path: '/api/v1/ws', status: 401, body: error('draining') }],
    ['a 503 without Retry-After', { method: 'GET', path: '/api/v1/ws', status: 503, headers: {}, body: error('draining') }],
    [
      'a Retry-After of nothing',
      { method: 'GET', path: '/api/v1/ws', status: 503, headers: { 'retry-after': '0' }, body: error('draining') },
    ],
    ['another field in an answer of the gateway', { method: 'GET', path: '/readyz', status: 200, body: { ready: true, version: 1 } }],
    [
      'another field in an error of the gateway',
      { method: 'GET', path: '/api/v1/ws', status: 401, body: { ...error('token_missing'), status: 401 } },
    ],
    [
      'an answer without its field',
      { method: 'GET', path: '/internal/replicas', status: 200, body: { replicas: [{ ...replica, pending: undefined }] } },
    ],
    ['a request without its body', { method: 'POST', path: '/internal/sync', status: 200, body: { conversations: [], events: [] } }],
    [
      'another field in a request of the gateway',
      {
        method: 'POST',
        path: '/internal/sync',
        request: { user_id: 'u1', conversations: {}, token: 'x' },
        status: 200,
        body: { conversations: [], events: [] },
      },
    ],
  ])('%s is not', (_, exchange) => {
    expect(validateHttp(exchange)).not.toEqual([]);
  });
});
