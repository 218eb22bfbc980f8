export { type EncodedEnvelope, type EventEnvelope, encodeEnvelope } from './envelope.js';
export {
  decodeOutgoing,
  encodeConversationInvalidation,
  encodeEvent,
  encodeMembershipInvalidation,
  encodeUserInvalidation,
  type NewUserCard,
  type Outgoing,
} from './outgoing.js';
export { InvalidEnvelopeError, type InvalidEnvelopeReason, PublishError } from './publish-error.js';
export { Publisher, type PublisherOptions, type PublisherRedis } from './publisher.js';
