import type { FencedReader } from '../../replica/fence.js';

/** What keeps two processes from reading one group. */
export interface ReaderFence {
  /** As far as this process can know by itself. */
  readonly isHeld: boolean;
  /** Another process has the replica id: final. */
  readonly isFencedOut: boolean;
  /** How long reading is certainly allowed, in ms. */
  heldForMs(): number;
  /** Resolves when this process may read for the first time. */
  whenHeld(): Promise<void>;
  /** Confirms on a reader's own server that it may read, and cuts others that read for this id. `clientId` is the reader's own there. */
  admit(reader: FencedReader, clientId: number): Promise<boolean>;
}

/** Told of each canary that has come through the reader and its loop. */
export interface CanaryListener {
  seen(id: string): void;
}

/** For the shared group, where nothing is fenced. */
export const noFence: ReaderFence = {
  isHeld: true,
  isFencedOut: false,
  heldForMs: () => Number.POSITIVE_INFINITY,
  whenHeld: () => Promise.resolve(),
  admit: () => Promise.resolve(true),
};
