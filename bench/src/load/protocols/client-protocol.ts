/** One user as a load generator knows it. */
export interface LoadUser {
  readonly id: string;
  readonly token: string;
}

/** What a message that is no event asks for. */
export type Answer =
  /** `how` is counted. */
  | { readonly kind: 'opened'; readonly how?: string }
  | { readonly kind: 'reply'; readonly text: string }
  | { readonly kind: 'other'; readonly name: string };

/** How clients of one system speak: as much of it as a load generator needs. */
export interface ClientProtocol {
  /** Path and query of the upgrade. @param cursor where to go on after a reconnect */
  path(user: LoadUser, cursor: string | undefined): string;
  /** Sent right after the upgrade. */
  readonly greeting?: (user: LoadUser) => string;
  /** Open with the upgrade itself, or with a message for which `answer` says so. */
  readonly opensOn: 'upgrade' | 'message';
  /** A message that begins so is an event. Undefined: messages are joined to one, and every event in it counts. */
  readonly eventPrefix: Buffer | undefined;
  /** A ping among joined messages, which must be answered although the whole counts as events. */
  readonly joinedPing?: { readonly marks: readonly Buffer[]; readonly reply: string };
  answer(text: string, user: LoadUser): Answer;
  /** What a client sends by itself, and how often. */
  readonly heartbeat?: { readonly text: string; readonly everyMs: number };
}
