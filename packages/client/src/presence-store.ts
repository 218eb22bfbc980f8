import type { PresenceEntry, PresenceStatus } from './frames.js';

/** Who is online, as far as this client was told. The newest `at_ms` counts; a snapshot replaces everything. */
export class PresenceStore {
  readonly #changed: (entry: PresenceEntry) => void;
  #entries = new Map<string, PresenceEntry>();

  constructor(changed: (entry: PresenceEntry) => void) {
    this.#changed = changed;
  }

  /** undefined: this client was never told, which is not "offline". */
  of(userId: string): PresenceEntry | undefined {
    return this.#entries.get(userId);
  }

  all(): readonly PresenceEntry[] {
    return [...this.#entries.values()];
  }

  apply(entry: PresenceEntry): void {
    const known = this.#entries.get(entry.user_id);
    // "Unknown" is the absence of news: it is older than any news, whatever clock it was stamped with.
    if (known !== undefined && known.status !== 'unknown' && known.at_ms >= entry.at_ms) return;
    this.#set(entry);
  }

  replace(entries: readonly PresenceEntry[]): void {
    const before = this.#entries;
    this.#entries = new Map();
    for (const entry of entries) this.#set(entry, before.get(entry.user_id)?.status);
    for (const entry of before.values()) if (!this.#entries.has(entry.user_id)) this.#set({ ...entry, status: 'unknown' }, entry.status);
  }

  /** The connection has been away for too long to claim anything. */
  forget(): void {
    this.replace([]);
  }

  #set(entry: PresenceEntry, statusBefore: PresenceStatus | undefined = this.#entries.get(entry.user_id)?.status): void {
    this.#entries.set(entry.user_id, entry);
    if (entry.status !== statusBefore) this.#changed(entry);
  }
}
