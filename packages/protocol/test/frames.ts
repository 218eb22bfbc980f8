import fc from 'fast-check';
import { asConversationId, asUserId, type ConversationId, type UserId } from '../src/ids.js';
import { FRAME_ERROR_CODES } from '../src/errors.js';
import { MAX_REF_UNITS } from '../src/limits.js';
import type { ClientFrame } from '../src/client-frame.js';
import type { PresenceEntry, ServerFrame } from '../src/server-frame.js';
import { asStreamId, type StreamId } from '../src/stream-id.js';

// Frames with every optional field now there and now not, and ids of every kind.

const idText = fc.oneof(fc.constantFrom('u1', 'c1', '__proto__', 'constructor', 'Ж', '😀', 'a b'), fc.uuid());
export const userId: fc.Arbitrary<UserId> = idText.map(asUserId).filter((id) => id !== undefined);
export const conversationId: fc.Arbitrary<ConversationId> = idText.map(asConversationId).filter((id) => id !== undefined);
export const streamId: fc.Arbitrary<StreamId> = fc
  .tuple(fc.nat(), fc.nat(3))
  .map(([ms, seq]) => asStreamId(`${1_767_225_600_000 + ms}-${seq}`))
  .filter((id) => id !== undefined);

const cursor = fc.option(streamId, { freq: 4 });
const ms = fc.nat();
const text = fc.string({ maxLength: 20 });
const time = fc.constantFrom('2026-01-01T00:00:00.000Z', '2026-07-31T23:59:59.999Z');
const seqs = fc.array(fc.tuple(conversationId, fc.nat())).map((entries) => new Map(entries));

const presenceEntry: fc.Arbitrary<PresenceEntry> = fc
  .tuple(
    fc.record({ user_id: userId, status: fc.constantFrom('online' as const, 'offline' as const, 'unknown' as const), at_ms: ms }),
    fc.record({ last_seen: time }, { requiredKeys: [] }),
  )
  .map(([required, rest]) => ({ ...required, ...rest }));

const record = <R, O>(type: ServerFrame['type'] | ClientFrame['type'], required: fc.Arbitrary<R>, rest: fc.Arbitrary<O>) =>
  fc.tuple(required, rest).map(([fields, more]) => ({ type, ...fields, ...more }));

const none = fc.constant({});

/** Every frame that the gateway makes by itself. */
export const serverFrame: fc.Arbitrary<ServerFrame> = fc.oneof(
  record(
    'hello',
    fc.record({
      connection_id: fc.uuid(),
      replica_id: fc.constant('gateway-1'),
      user_id: userId,
      heartbeat_ms: fc.integer({ min: 1, max: 60_000 }),
      resumed: fc.boolean(),
      cursor,
    }),
    none,
  ),
  record(
    'typing',
    fc.record({ conversation_id: conversationId, user_id: userId, user_name: text }),
    fc.record({ stale: fc.constant(true as const) }, { requiredKeys: [] }),
  ),
  record(
    'presence',
    fc.record({ user_id: userId, status: fc.constantFrom('online', 'offline'), at_ms: ms }),
    fc.record({ last_seen: time }, { requiredKeys: [] }),
  ),
  record('presence.snapshot', fc.record({ presence: fc.array(presenceEntry, { maxLength: 3 }) }), none),
  record(
    'sync.complete',
    fc.record({ conversations: seqs, presence: fc.array(presenceEntry, { maxLength: 3 }), has_more: fc.boolean(), cursor }),
    fc.record({ ref: text, next: fc.string({ minLength: 1, maxLength: 40 }) }, { requiredKeys: [] }),
  ),
  record(
    'sync.required',
    fc.record({ reason: fc.constantFrom('trimmed', 'gap', 'slow_consumer', 'cursor_unknown'), cursor, after_ms: ms }),
    none,
  ),
  record('token.expiring', fc.record({ expires_in_ms: ms }), none),
  record('auth.ok', fc.record({ expires_in_ms: ms }), none),
  record('reconnect', fc.record({ after_ms: ms }), fc.record({ cursor }, { requiredKeys: [] })),
  record('pong', none, fc.record({ cursor }, { requiredKeys: [] })),
  record(
    'error',
    fc.record({
      error: fc
        .tuple(
          fc.record({ code: fc.constantFrom(...FRAME_ERROR_CODES), message: text }),
          fc.record({ retry_after_ms: ms, ref: text }, { requiredKeys: [] }),
        )
        .map(([fields, more]) => ({ ...fields, ...more })),
    }),
    none,
  ),
) as fc.Arbitrary<ServerFrame>;

/** Every frame that a client sends. */
export const clientFrame: fc.Arbitrary<ClientFrame> = fc.oneof(
  record('ping', none, none),
  record('typing', fc.record({ conversationId }), none),
  record(
    'sync',
    fc.record({ conversations: seqs }),
    fc.record(
      { cursor: fc.oneof(streamId, text), next: fc.string({ minLength: 1, maxLength: 40 }), ref: fc.string({ maxLength: MAX_REF_UNITS }) },
      { requiredKeys: [] },
    ),
  ),
  record('auth', fc.record({ token: fc.string({ minLength: 1 }) }), none),
) as fc.Arbitrary<ClientFrame>;

/** Encodes a client's frame as it goes over the wire. */
export function encodeClientFrame(frame: ClientFrame): string {
  switch (frame.type) {
    case 'ping':
    case 'auth':
      return JSON.stringify(frame);
    case 'typing':
      return JSON.stringify({ type: frame.type, conversation_id: frame.conversationId });
    case 'sync':
      return JSON.stringify({ ...frame, conversations: Object.fromEntries(frame.conversations) });
  }
}
