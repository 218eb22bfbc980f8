/** The types whose frames the contract defines; any other type that is not reserved is delivered as a generic frame. */
export const DEFINED_EVENT_TYPES: ReadonlySet<string> = new Set([
  'message.new',
  'message.edited',
  'message.deleted',
  'receipt.delivered',
  'receipt.read',
  'reaction.added',
  'reaction.removed',
  'conversation.created',
  'conversation.updated',
  'member.changed',
]);

const reservedNames: ReadonlySet<string> = new Set(['hello', 'typing', 'reconnect', 'pong', 'error']);
const reservedPrefixes = ['sync.', 'presence', 'token.', 'auth.'] as const;

/** True for names that the gateway itself sends: an event may not carry one, or a payload bug could impersonate the gateway. */
export function isReservedType(type: string): boolean {
  return !DEFINED_EVENT_TYPES.has(type) && (reservedNames.has(type) || reservedPrefixes.some((prefix) => type.startsWith(prefix)));
}

/** `message.*`: the payload is an object, travels under `message` and gets its sender's card. */
export function isMessageType(type: string): boolean {
  return type.startsWith('message.');
}
