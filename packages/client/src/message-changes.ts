import type { MessageFrame } from './frames.js';

interface Change {
  readonly frame: MessageFrame;
  /** The sync that was under way when it came live; undefined when it came by a sync, or while there was none. */
  readonly duringSync: number | undefined;
  isHandedOut: boolean;
}

/** Enough for what is edited while a sync is under way; older changes need no guard any more. */
const MAX_CHANGES = 2_000;

/**
 * The last edit or deletion of each message, so that they can come twice, and before their message, and do no harm: a deletion
 * is final, and an edit that a sync brings does not undo one that came live after that sync was asked.
 */
export class MessageChanges {
  readonly #changes = new Map<string, Change>();

  /** Whether this change is news. `syncNumber` is the sync under way, if any. */
  accept(frame: MessageFrame, isSynced: boolean, syncNumber: number | undefined): boolean {
    const last = this.#changes.get(frame.message.id);
    if (last?.frame.type === 'message.deleted') return false;
    if (last !== undefined && frame.type === 'message.edited' && isSynced && last.duringSync === syncNumber) return false;
    this.#changes.delete(frame.message.id);
    this.#changes.set(frame.message.id, { frame, duringSync: isSynced ? undefined : syncNumber, isHandedOut: false });
    for (const oldest of this.#changes.keys()) {
      if (this.#changes.size <= MAX_CHANGES) break;
      this.#changes.delete(oldest);
    }
    return true;
  }

  handedOut(frame: MessageFrame): void {
    const change = this.#changes.get(frame.message.id);
    if (change?.frame === frame) change.isHandedOut = true;
  }

  /** The change that was handed out before its message, when it meant nothing to anybody; undefined if there was none. */
  missedBy(messageId: string): MessageFrame | undefined {
    const change = this.#changes.get(messageId);
    return change?.isHandedOut === true ? change.frame : undefined;
  }
}
