/** What the messenger says there is for one user. */
export interface Expected {
  /** Conversation → its last seq. */
  readonly lastSeqs: ReadonlyMap<string, number>;
  /** Message id → the version that its last edit made. */
  readonly versions: ReadonlyMap<string, number>;
}

/** What stands behind a client: it is handed messages and edits, and complains about what must not happen to an application. */
export class Application {
  /** Conversation → seq of the last message that was handed out. */
  readonly #last = new Map<string, number>();
  readonly #versions = new Map<string, number>();
  readonly #complain: (complaint: string) => void;
  #messages = 0;

  constructor(complain: (complaint: string) => void) {
    this.#complain = complain;
  }

  get messages(): number {
    return this.#messages;
  }

  message(conversationId: string, seq: number): void {
    this.#messages++;
    const last = this.#last.get(conversationId) ?? 0;
    if (seq <= last) this.#complain(`the application got ${conversationId}#${seq} after #${last}: twice, or out of order`);
    if (seq > last + 1) this.#complain(`the application got ${conversationId}#${seq} right after #${last}`);
    this.#last.set(conversationId, Math.max(last, seq));
  }

  edited(messageId: string, version: number): void {
    this.#versions.set(messageId, Math.max(version, this.#versions.get(messageId) ?? 0));
  }

  /** What this application should have and has not. */
  missing({ lastSeqs, versions }: Expected): string[] {
    const messages = [...lastSeqs].flatMap(([id, seq]) => {
      const last = this.#last.get(id) ?? 0;
      return last === seq ? [] : [`${id}#${last + 1}…${seq}`];
    });
    const edits = [...versions].filter(([id, version]) => this.#versions.get(id) !== version);
    return [...messages, ...edits.map(([id, version]) => `edit ${version} of ${id}`)];
  }
}
