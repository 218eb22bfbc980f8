import { isUtf8 } from 'node:buffer';
import { decodeRecipients, type MalformedReason, type UserId } from '@event-gateway/protocol';
import { type Matchable, type RecipientIndex, scanRecipients, scanUserIds } from '../hub/scan-recipients.js';

/** Step 3: recipients → who is here. Keeps the counter that makes duplicate recipients count once. */
export class RecipientMatcher<T extends Matchable> {
  readonly #index: RecipientIndex<T>;
  #stamp = 0;

  constructor(index: RecipientIndex<T>) {
    this.#index = index;
  }

  /** The users who are here, each once; or why the addressing is malformed. */
  match(recipients: Buffer | readonly UserId[]): T[] | MalformedReason {
    const found: T[] = [];
    if (!Buffer.isBuffer(recipients)) {
      scanUserIds(recipients, this.#index, ++this.#stamp, found);
      return found;
    }
    if (scanRecipients(recipients, this.#index, ++this.#stamp, found)) return found;
    if (!isUtf8(recipients)) return 'invalid_utf8';
    const userIds = decodeRecipients(recipients);
    if (typeof userIds === 'string') return userIds;
    found.length = 0;
    scanUserIds(userIds, this.#index, ++this.#stamp, found);
    return found;
  }
}
