import type { Dialog } from '../store/conversation-store.js';

/** What a sync will return of one conversation, fixed when it begins. */
export interface SyncDialog {
  readonly conversationId: string;
  readonly type: 'direct' | 'group';
  readonly title: string | undefined;
  readonly peerId: string | undefined;
  /** Messages with `afterSeq < seq <= throughSeq` are returned; what is posted meanwhile comes live. */
  readonly afterSeq: number;
  readonly throughSeq: number;
  /** False: the client has never had it, and starts from a recent window. */
  readonly isKnown: boolean;
}

export interface SyncPlan {
  readonly dialogs: readonly SyncDialog[];
  readonly sinceMs: number | undefined;
  /** Changes up to this position are returned. */
  readonly throughPosition: number;
}

/** Where a page begins: within the messages of a dialog, or, once those are through, within the changes. */
export type SyncStep =
  | { readonly phase: 'messages'; readonly dialog: number; readonly afterSeq: number }
  | { readonly phase: 'changes'; readonly afterPosition: number };

export interface SyncQuestion {
  readonly userId: string;
  /** The highest seq that the client has, by conversation. */
  readonly lastSeqs: ReadonlyMap<string, number>;
  readonly sinceMs: number | undefined;
}

export function planSync(dialogs: readonly Dialog[], question: SyncQuestion, windowMessages: number, throughPosition: number): SyncPlan {
  const plan = dialogs.map(({ conversationId, type, title, peerId, lastSeq }): SyncDialog => {
    const known = question.lastSeqs.get(conversationId);
    const afterSeq = known ?? Math.max(0, lastSeq - windowMessages);
    return { conversationId, type, title, peerId, afterSeq, throughSeq: lastSeq, isKnown: known !== undefined };
  });
  return { dialogs: plan, sinceMs: question.sinceMs, throughPosition };
}

export const FIRST_STEP: SyncStep = { phase: 'messages', dialog: 0, afterSeq: 0 };

export function encodeStep(step: SyncStep): string {
  return step.phase === 'messages' ? `m.${step.dialog}.${step.afterSeq}` : `c.${step.afterPosition}`;
}

export function decodeStep(text: string): SyncStep | undefined {
  const messages = /^m\.(\d{1,9})\.(\d{1,15})$/.exec(text);
  if (messages !== null) return { phase: 'messages', dialog: Number(messages[1]), afterSeq: Number(messages[2]) };
  const changes = /^c\.(\d{1,15})$/.exec(text);
  return changes === null ? undefined : { phase: 'changes', afterPosition: Number(changes[1]) };
}
