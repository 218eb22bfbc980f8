import { asConversationId, type ConversationId } from './ids.js';
import { asObject, parseJson } from './json-text.js';
import { isDeeperThan } from './json-depth.js';
import { MAX_PAGE_TOKEN_UNITS, MAX_REF_UNITS } from './limits.js';

/** Any sign of life; answered with `pong`. */
export interface PingFrame {
  readonly type: 'ping';
}

export interface TypingRequestFrame {
  readonly type: 'typing';
  readonly conversationId: ConversationId;
}

/** A request to catch up. */
export interface SyncFrame {
  readonly type: 'sync';
  /** The highest seq before any hole, by conversation; empty when the frame only goes on with `next`. */
  readonly conversations: ReadonlyMap<ConversationId, number>;
  /** The client's last cursor before the hole, as sent: whether it is one is judged when it is used. */
  readonly cursor?: string;
  /** The page token of the `sync.complete` that had more. */
  readonly next?: string;
  /** Comes back in `sync.complete` and in errors. */
  readonly ref?: string;
}

/** A fresh token for a connection that goes on. */
export interface AuthFrame {
  readonly type: 'auth';
  readonly token: string;
}

export type ClientFrame = PingFrame | TypingRequestFrame | SyncFrame | AuthFrame;
export type ClientFrameType = ClientFrame['type'];

/** Why a frame is not served. `unknown_type` is answered but is no violation: the client may be newer than the gateway. */
export interface ClientFrameError {
  readonly error: 'bad_json' | 'bad_frame' | 'unknown_type' | 'too_deep';
  readonly message: string;
  readonly ref?: string;
}

/** Decodes one text frame. Its size, its rate and that it is text are checked by the caller. Unknown fields are ignored. */
export function decodeClientFrame(text: Uint8Array, limits: { readonly maxDepth: number }): ClientFrame | ClientFrameError {
  if (isDeeperThan(text, limits.maxDepth)) return refuse('too_deep', `nested deeper than ${limits.maxDepth}`);
  const value = parseJson(text);
  if (value === undefined) return refuse('bad_json', 'not JSON');
  const fields = asObject(value);
  if (fields === undefined) return refuse('bad_frame', 'not an object');
  const type = fields['type'];
  if (typeof type !== 'string' || type === '') return refuse('bad_frame', 'type must be a non-empty string');
  switch (type) {
    case 'ping':
      return { type };
    case 'typing':
      return decodeTyping(fields);
    case 'sync':
      return decodeSync(fields);
    case 'auth':
      return decodeAuth(fields);
    default:
      return refuse('unknown_type', 'unknown type');
  }
}

type Fields = Readonly<Record<string, unknown>>;

function decodeTyping(fields: Fields): ClientFrame | ClientFrameError {
  const conversationId = asConversationId(fields['conversation_id']);
  return conversationId === undefined ? refuse('bad_frame', 'conversation_id must be an id') : { type: 'typing', conversationId };
}

function decodeAuth(fields: Fields): ClientFrame | ClientFrameError {
  const token = fields['token'];
  return typeof token === 'string' && token !== '' ? { type: 'auth', token } : refuse('bad_frame', 'token must be a non-empty string');
}

function decodeSync(fields: Fields): ClientFrame | ClientFrameError {
  const ref = fields['ref'] ?? undefined;
  if (ref !== undefined && !(typeof ref === 'string' && ref.length <= MAX_REF_UNITS)) {
    return refuse('bad_frame', `ref must be a string of at most ${MAX_REF_UNITS} characters`);
  }
  const next = fields['next'] ?? undefined;
  if (next !== undefined && !(typeof next === 'string' && next !== '' && next.length <= MAX_PAGE_TOKEN_UNITS)) {
    return refuse('bad_frame', `next must be a non-empty string of at most ${MAX_PAGE_TOKEN_UNITS} characters`, ref);
  }
  const cursor = fields['cursor'] ?? undefined;
  if (cursor !== undefined && typeof cursor !== 'string') return refuse('bad_frame', 'cursor must be a string', ref);
  // A frame that goes on with `next` may leave the conversations out: the page token says where it is.
  const conversations = decodeSeqs(fields['conversations'] === undefined && next !== undefined ? {} : fields['conversations']);
  if (conversations === undefined) return refuse('bad_frame', 'conversations must map conversation ids to seqs', ref);
  return {
    type: 'sync',
    conversations,
    ...(cursor === undefined ? {} : { cursor }),
    ...(next === undefined ? {} : { next }),
    ...(ref === undefined ? {} : { ref }),
  };
}

/** `{conversation id: seq}` → a Map (an object would trip over ids like `__proto__`). */
function decodeSeqs(value: unknown): Map<ConversationId, number> | undefined {
  const members = asObject(value);
  if (members === undefined) return undefined;
  const seqs = new Map<ConversationId, number>();
  for (const [key, seq] of Object.entries(members)) {
    const conversationId = asConversationId(key);
    if (conversationId === undefined || typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 0) return undefined;
    seqs.set(conversationId, seq);
  }
  return seqs;
}

function refuse(error: ClientFrameError['error'], message: string, ref?: string): ClientFrameError {
  return ref === undefined ? { error, message } : { error, message, ref };
}
