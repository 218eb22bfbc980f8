/** One line for one device owner: something new waits for you. Without the text: a device fetches that by itself. */
export interface Push {
  readonly userId: string;
  readonly messageId: string;
  readonly conversationId: string | undefined;
  readonly senderId: string | undefined;
  /** `unknown`: nobody could say, so it is pushed; better one too many. */
  readonly presence: 'offline' | 'unknown';
}

/** Where pushes go: a provider, a queue, a log. */
export interface PushSink {
  /** `refused` is for good. Throws when it is worth another try. May be called again for a push whose outcome was lost. */
  push(push: Push): Promise<'accepted' | 'refused'>;
}

/** The push by its names on the wire. */
export function pushBody({ userId, messageId, conversationId, senderId, presence }: Push): object {
  return { user_id: userId, message_id: messageId, conversation_id: conversationId, sender_id: senderId, presence };
}
