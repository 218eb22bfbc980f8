import { type DurableFrame, decodeServerFrame, type ServerFrame } from '@event-gateway/protocol';
import type { RawData } from 'ws';

export type ReadFrame =
  | { readonly kind: 'own'; readonly frame: ServerFrame }
  /** An event of the messenger. */
  | { readonly kind: 'durable'; readonly frame: DurableFrame };

/** Undefined for what is no frame of the contract. */
export function readFrame(text: string): ReadFrame | undefined {
  const frame = decodeServerFrame(text);
  if (frame === undefined) return undefined;
  return isServerFrame(frame) ? { kind: 'own', frame } : { kind: 'durable', frame };
}

/** A message of a socket whose `binaryType` is the usual one. */
export function textOf(data: RawData): string {
  return data instanceof Buffer ? data.toString() : '';
}

export interface MessageFrame {
  readonly conversationId: string;
  readonly id: string;
  readonly seq: number;
}

/** What a `message.new` is about; undefined for every other event. */
export function messageOf({ type, conversation_id: conversationId, message }: DurableFrame): MessageFrame | undefined {
  const { id, seq } = message ?? {};
  if (type !== 'message.new' || conversationId === undefined || typeof id !== 'string' || typeof seq !== 'number') return undefined;
  return { conversationId, id, seq };
}

const ownTypes: ReadonlySet<string> = new Set<ServerFrame['type']>([
  ...(['hello', 'typing', 'presence', 'presence.snapshot', 'sync.complete', 'sync.required'] as const),
  ...(['token.expiring', 'auth.ok', 'reconnect', 'pong', 'error'] as const),
]);

function isServerFrame(frame: ServerFrame | DurableFrame): frame is ServerFrame {
  return ownTypes.has(frame.type);
}
