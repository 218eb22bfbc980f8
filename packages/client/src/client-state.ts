import { isRecord, seqEntries } from './frames.js';

/**
 * What a client must know to go on where it stopped. Plain JSON. It belongs to the application's own copy of the messages and
 * must not outlive it: with this state, only what comes after it is delivered.
 */
export interface ClientState {
  readonly version: 1;
  readonly user_id?: string;
  /** The last durable event that the application was given. */
  readonly cursor?: string;
  /** Per conversation, the highest seq with no hole below it. */
  readonly last_seq: Readonly<Record<string, number>>;
  /** Something was missed since: the seqs and the cursor from before the hole. Kept until a sync has ended. */
  readonly needs_sync?: { readonly last_seq: Readonly<Record<string, number>>; readonly cursor?: string };
}

/** A stored state of another shape (another version, another writer) is no state. */
export function decodeState(value: unknown): ClientState | undefined {
  if (!isRecord(value) || value['version'] !== 1) return undefined;
  const needsSync = value['needs_sync'];
  return {
    version: 1,
    ...text('user_id', value['user_id']),
    ...text('cursor', value['cursor']),
    last_seq: Object.fromEntries(seqEntries(value['last_seq'])),
    ...(isRecord(needsSync)
      ? { needs_sync: { last_seq: Object.fromEntries(seqEntries(needsSync['last_seq'])), ...text('cursor', needsSync['cursor']) } }
      : {}),
  };
}

function text<Name extends string>(name: Name, value: unknown): { [name in Name]?: string } {
  const field: { [name in Name]?: string } = {};
  return typeof value === 'string' ? Object.assign(field, { [name]: value }) : field;
}
