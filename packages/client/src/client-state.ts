import { isRecord, seqEntries } from './frames.js';

/**
 * What a client must know to go on where it stopped. Plain JSON. It belongs to the application's own copy of the messages and
 * must not outlive it: with this state, only what comes after it is delivered.
 */
export interface ClientState {
  readonly version: 1;
  readonly user_id?: string | undefined;
  /** The last durable event that the application was given. */
  readonly cursor?: string | undefined;
  /** Per conversation, the highest seq with no hole below it. */
  readonly last_seq: Readonly<Record<string, number>>;
  /** Something was missed since: the seqs and the cursor from before the hole. Kept until a sync has ended. */
  readonly needs_sync?: { readonly last_seq: Readonly<Record<string, number>>; readonly cursor?: string | undefined } | undefined;
}

/** A stored state of another shape (another version, another writer) is no state. */
export function decodeState(value: unknown): ClientState | undefined {
  if (!isRecord(value) || value['version'] !== 1) return undefined;
  const needsSync = value['needs_sync'];
  return {
    version: 1,
    user_id: textOf(value['user_id']),
    cursor: textOf(value['cursor']),
    last_seq: seqsOf(value['last_seq']),
    needs_sync: isRecord(needsSync) ? { last_seq: seqsOf(needsSync['last_seq']), cursor: textOf(needsSync['cursor']) } : undefined,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function seqsOf(value: unknown): Record<string, number> {
  return Object.fromEntries(seqEntries(value));
}
