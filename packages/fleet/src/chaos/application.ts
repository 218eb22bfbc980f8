import { SeqTrack } from './seq-track.js';

/** What the messenger says there is for one user. */
export interface Expected {
  /** Conversation → its last seq. */
  readonly lastSeqs: ReadonlyMap<string, number>;
  /** Message id → the version that its last edit made. */
  readonly versions: ReadonlyMap<string, number>;
}

/** What stands behind a client: it is handed messages and edits, and complains about what must not happen to an application. */
export class Application {
  /** Conversation → the highest seq that was handed out. */
  readonly #last = new Map<string, number>();
  readonly #tracks = new Map<string, SeqTrack>();
  readonly #versions = new Map<string, number>();
  readonly #complain: (complaint: string) => void;

  constructor(complain: (complaint: string) => void) {
    this.#complain = complain;
  }

  message(conversationId: string, seq: number): void {
    const last = this.#last.get(conversationId) ?? 0;
    if (seq <= last) this.#complain(`the application got ${conversationId}#${seq} after #${last}: twice, or out of order`);
    if (seq > last + 1) this.#complain(`the application got ${conversationId}#${seq} right after #${last}`);
    this.#last.set(conversationId, Math.max(last, seq));
    const track = this.#tracks.get(conversationId) ?? new SeqTrack();
    this.#tracks.set(conversationId, track);
    track.add(seq);
  }

  edited(messageId: string, version: number): void {
    this.#versions.set(messageId, Math.max(version, this.#versions.get(messageId) ?? 0));
  }

  /** What this application should have and has not. */
  missing({ lastSeqs, versions }: Expected): string[] {
    const messages = [...lastSeqs].flatMap(([id, seq]) => {
      const upTo = this.#tracks.get(id)?.contiguous ?? 0;
      return upTo === seq ? [] : [`${id}#${upTo + 1}`];
    });
    const edits = [...versions].filter(([id, version]) => this.#versions.get(id) !== version);
    return [...messages, ...edits.map(([id, version]) => `edit ${version} of ${id}`)];
  }
}
