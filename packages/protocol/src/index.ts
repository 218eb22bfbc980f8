export {
  asConversationType,
  type ConversationCard,
  type ConversationType,
  decodeConversationCard,
  decodeUserCard,
  encodeConversationCard,
  encodeUserCard,
  type UserCard,
} from './cards.js';
export {
  type AuthFrame,
  type ClientFrame,
  type ClientFrameError,
  type ClientFrameType,
  decodeClientFrame,
  type PingFrame,
  type SyncFrame,
  type TypingRequestFrame,
} from './client-frame.js';
export { CLOSE_CODES, type CloseRule, type ReconnectAfter, type ServerCloseReason } from './close-codes.js';
export { decodeServerFrame } from './decode-server-frame.js';
export { decodeEnvelope, decodeRecipients, type Envelope, MALFORMED_REASONS, type MalformedReason } from './envelope.js';
export {
  FRAME_ERROR_CODES,
  type FrameErrorCode,
  HTTP_REFUSAL_STATUS,
  type HttpErrorBody,
  type HttpRefusal,
  UPGRADE_REFUSAL_STATUS,
  type UpgradeRefusal,
} from './errors.js';
export { DEFINED_EVENT_TYPES, isMessageType, isReservedType } from './event-types.js';
export { asConversationId, asUserId, asUserIds, type ConversationId, isId, MAX_ID_UNITS, type UserId } from './ids.js';
export { isDeeperThan } from './json-depth.js';
export { isJson, type JsonMember, type JsonRange, scanArray, scanObject } from './json-scan.js';
export { keyAt, keyEquals, stringAt } from './json-text.js';
export {
  APPLICATION_CLOSE_CODES,
  FRAME_LIMITS,
  MAX_CLOSE_REASON_BYTES,
  MAX_ENTRY_BYTES,
  MAX_PAGE_TOKEN_UNITS,
  MAX_PRESENCE_QUERY_USERS,
  MAX_REF_UNITS,
} from './limits.js';
export {
  type ControlMessage,
  type ConversationChanged,
  decodeControlMessage,
  decodeConversationChanged,
  decodePresenceMessage,
  decodeTypingMessage,
  decodeUserUpdated,
  encodeControlMessage,
  encodeConversationChanged,
  encodePresenceMessage,
  encodeTypingMessage,
  encodeUserUpdated,
  isApplicationCloseCode,
  isCloseReason,
  type PresenceMessage,
  type TypingMessage,
  type UserUpdated,
} from './pubsub.js';
export type { ReplicaRow } from './replica-row.js';
export {
  type AuthOkFrame,
  type ConversationHeader,
  type DurableFrame,
  type ErrorFrame,
  encodeFrame,
  type FrameCursor,
  type HelloFrame,
  type PongFrame,
  type PresenceEntry,
  type PresenceFrame,
  type PresenceSnapshotFrame,
  type PresenceStatus,
  type ReconnectFrame,
  type ServerFrame,
  type ServerFrameType,
  type SyncCompleteFrame,
  type SyncRequiredFrame,
  type SyncRequiredReason,
  type TokenExpiringFrame,
  type TypingFrame,
} from './server-frame.js';
export { asStreamId, compareStreamIds, isStreamId, STREAM_START, type StreamId, streamIdMs } from './stream-id.js';
export {
  decodeSyncPage,
  encodeSyncRequest,
  type SyncConversation,
  type SyncEvent,
  type SyncPage,
  type SyncRequest,
} from './sync.js';
