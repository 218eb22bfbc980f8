import { asConversationId, asUserId, encodeConversationChanged, encodeUserUpdated } from '@event-gateway/protocol';
import { channels } from '@event-gateway/redis';
import { type EventEnvelope, encodeEnvelope } from './envelope.js';
import { InvalidEnvelopeError } from './publish-error.js';

/**
 * What the bus is to be told, checked and encoded, as plain data: it can be stored as JSON in an outbox, in the transaction of what it
 * tells, and sent later.
 */
export type Outgoing =
  | { readonly kind: 'event'; readonly recipients: string; readonly envelope: string }
  | { readonly kind: 'invalidation'; readonly channel: string; readonly message: string };

/** The new card of a user whose profile has changed. */
export interface NewUserCard {
  readonly displayName: string;
  readonly avatarUrl?: string | undefined;
  readonly status?: string | undefined;
}

/** @throws InvalidEnvelopeError */
export function encodeEvent(event: EventEnvelope): Outgoing {
  return { kind: 'event', ...encodeEnvelope(event) };
}

/** A user's card has changed; with the new one at hand, no replica needs to fetch it. @throws InvalidEnvelopeError */
export function encodeUserInvalidation(userId: string, card?: NewUserCard): Outgoing {
  const id = asUserId(userId);
  if (id === undefined) throw new InvalidEnvelopeError('user_id_invalid', 'the user id is not an id');
  const { displayName = '', avatarUrl, status } = card ?? {};
  const newCard = {
    userId: id,
    displayName,
    ...(avatarUrl === undefined ? {} : { avatarUrl }),
    ...(status === undefined ? {} : { status }),
  };
  const message = encodeUserUpdated(card === undefined ? { userId: id } : { userId: id, card: newCard });
  return { kind: 'invalidation', channel: channels.userUpdated, message };
}

/** A conversation's title or avatar has changed. @throws InvalidEnvelopeError */
export function encodeConversationInvalidation(conversationId: string): Outgoing {
  return encodeConversation(channels.conversationUpdated, conversationId);
}

/** Somebody has joined or left a conversation. @throws InvalidEnvelopeError */
export function encodeMembershipInvalidation(conversationId: string): Outgoing {
  return encodeConversation(channels.memberChanged, conversationId);
}

function encodeConversation(channel: string, conversationId: string): Outgoing {
  const id = asConversationId(conversationId);
  if (id === undefined) throw new InvalidEnvelopeError('conversation_id_invalid', 'the conversation id is not an id');
  return { kind: 'invalidation', channel, message: encodeConversationChanged({ conversationId: id }) };
}

/** Reads back what was stored as JSON. @throws TypeError when it is something else */
export function decodeOutgoing(json: string): Outgoing {
  const value: unknown = JSON.parse(json);
  if (typeof value === 'object' && value !== null && 'kind' in value) {
    if (value.kind === 'event' && 'recipients' in value && 'envelope' in value) {
      const { kind, recipients, envelope } = value;
      if (typeof recipients === 'string' && typeof envelope === 'string') return { kind, recipients, envelope };
    }
    if (value.kind === 'invalidation' && 'channel' in value && 'message' in value) {
      const { kind, channel, message } = value;
      if (typeof channel === 'string' && typeof message === 'string') return { kind, channel, message };
    }
  }
  throw new TypeError('this is not something encoded for the bus');
}
