import { isUtf8 } from 'node:buffer';
import { decodeRecipients, type MalformedReason, type UserId } from '@event-gateway/protocol';

/** Whoever can be matched: the stamp says which match found it last, so that duplicate recipients count once. */
export interface Matchable {
  matchStamp: number;
}

/** The users that are looked for. */
export interface RecipientIndex<T extends Matchable> {
  mayHave(bytes: Uint8Array, start: number, end: number): boolean;
  get(userId: string): T | undefined;
}

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const firstPrintable = 0x20;
const firstBeyondAscii = 0x7f;
const maxIdBytes = 128;

/** Step 3 of the walk: recipients → which of the indexed users are among them. */
export class RecipientMatcher<T extends Matchable> {
  readonly #index: RecipientIndex<T>;
  #stamp = 0;

  constructor(index: RecipientIndex<T>) {
    this.#index = index;
  }

  /** The users found, each once; or why the addressing is malformed. */
  match(recipients: Buffer | readonly UserId[]): T[] | MalformedReason {
    const found: T[] = [];
    if (!Buffer.isBuffer(recipients)) return this.#matchIds(recipients, found);
    if (scanRecipients(recipients, this.#index, ++this.#stamp, found)) return found;
    if (!isUtf8(recipients)) return 'invalid_utf8';
    const userIds = decodeRecipients(recipients);
    return typeof userIds === 'string' ? userIds : this.#matchIds(userIds, []);
  }

  #matchIds(userIds: readonly UserId[], found: T[]): T[] {
    this.#stamp++;
    for (const userId of userIds) match(this.#index.get(userId), this.#stamp, found);
    return found;
  }
}

/**
 * Finds the indexed users in the bytes of a JSON array of ids, and appends each once to `found`. An id that is not indexed costs
 * its bytes and one look at the filter: no string, no allocation.
 *
 * Returns false at any surprise (space, escape, control or non-ASCII character, bad length, another layout): the caller then
 * decodes the array in full and starts over with a new stamp. What this scan accepts, the full decoder accepts with the same
 * ids.
 */
function scanRecipients<T extends Matchable>(bytes: Buffer, index: RecipientIndex<T>, stamp: number, found: T[]): boolean {
  const length = bytes.length;
  if (bytes[0] !== openBracket) return false;
  if (bytes[1] === closeBracket) return length === 2;
  for (let at = 1; ; at++) {
    if (bytes[at] !== quote) return false;
    const start = ++at;
    for (; ; at++) {
      const byte = bytes[at];
      if (byte === quote) break;
      if (byte === undefined || byte < firstPrintable || byte >= firstBeyondAscii || byte === backslash) return false;
    }
    if (at === start || at - start > maxIdBytes) return false;
    if (index.mayHave(bytes, start, at)) match(index.get(bytes.toString('latin1', start, at)), stamp, found);
    at++;
    if (bytes[at] === closeBracket) return at === length - 1;
    if (bytes[at] !== comma) return false;
  }
}

function match<T extends Matchable>(user: T | undefined, stamp: number, found: T[]): void {
  if (user === undefined || user.matchStamp === stamp) return;
  user.matchStamp = stamp;
  found.push(user);
}
