/** Every pub/sub channel that the gateway listens to or publishes on. */
export const channels = {
  userUpdated: 'user.updated',
  conversationUpdated: 'conversation.updated',
  memberChanged: 'member.changed',
  presence: 'gateway.presence',
  typing: 'gateway.typing',
  control: 'gateway.control',
  /** Only with `FANOUT=pubsub`: the envelopes themselves. */
  events: 'messenger.events',
} as const;
