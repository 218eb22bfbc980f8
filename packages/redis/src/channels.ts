/** The pub/sub channels of the fleet. With `FANOUT=pubsub` envelopes come over one more, named by EVENT_STREAM. */
export const channels = {
  userUpdated: 'user.updated',
  conversationUpdated: 'conversation.updated',
  memberChanged: 'member.changed',
  presence: 'gateway.presence',
  typing: 'gateway.typing',
  control: 'gateway.control',
} as const;
