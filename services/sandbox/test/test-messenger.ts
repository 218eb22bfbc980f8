import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@event-gateway/runtime';
import { Conversations } from '../src/messenger/conversations.js';
import { EventRecorder } from '../src/messenger/event-recorder.js';
import { Messages } from '../src/messenger/messages.js';
import { Receipts } from '../src/messenger/receipts.js';
import { Users } from '../src/messenger/users.js';
import { Refusal } from '../src/refusal.js';
import { ChangeStore } from '../src/store/change-store.js';
import { ConversationStore } from '../src/store/conversation-store.js';
import { Database } from '../src/store/database.js';
import { MessageStore } from '../src/store/message-store.js';
import { OutboxStore } from '../src/store/outbox-store.js';
import { ReceiptStore } from '../src/store/receipt-store.js';
import { UserStore } from '../src/store/user-store.js';
import { WalkStore } from '../src/store/walk-store.js';
import { Sync, type SyncOptions } from '../src/sync/sync.js';

/** The messenger without HTTP and without a bus, on a file of its own and a clock that stands. */
export class TestMessenger {
  readonly clock = new FakeClock();
  readonly database: Database;
  readonly outbox: OutboxStore;
  readonly users: Users;
  readonly conversations: Conversations;
  readonly messages: Messages;
  readonly receipts: Receipts;
  readonly #stores: ConstructorParameters<typeof Sync>[0];
  readonly #dir = mkdtempSync(join(tmpdir(), 'messenger-'));

  constructor() {
    this.database = new Database(join(this.#dir, 'messenger.db'));
    this.database.open();
    this.outbox = new OutboxStore(this.database);
    const changes = new ChangeStore(this.database);
    const [users, conversations, messages] = [
      new UserStore(this.database),
      new ConversationStore(this.database),
      new MessageStore(this.database),
    ];
    const recorder = new EventRecorder(this.outbox, changes);
    this.users = new Users(this.database, users, recorder, this.clock);
    this.conversations = new Conversations(this.database, conversations, users, recorder, this.clock);
    this.messages = new Messages(this.database, conversations, messages, recorder, this.clock);
    this.receipts = new Receipts(this.database, conversations, new ReceiptStore(this.database), recorder, this.clock);
    this.#stores = { conversations, messages, changes, walks: new WalkStore(this.database) };
  }

  sync(options: Partial<SyncOptions> = {}): Sync {
    return new Sync(this.#stores, this.clock, { pageEvents: 100, windowMessages: 50, walkTtlMs: 60_000, ...options });
  }

  addUsers(...ids: readonly string[]): void {
    for (const userId of ids) this.users.put({ userId, displayName: userId.toUpperCase(), avatarUrl: undefined, status: undefined });
  }

  /** Posts `count` messages; their ids. */
  post(userId: string, conversationId: string, count = 1): string[] {
    return Array.from({ length: count }, (_, n) => {
      const posted = granted(this.messages.post(userId, conversationId, { text: `text ${n}`, clientId: undefined }));
      return posted.message.messageId;
    });
  }

  close(): void {
    this.database.close();
    rmSync(this.#dir, { recursive: true });
  }
}

/** The value of something that a test expects not to be refused. */
export function granted<T>(result: T | Refusal): T {
  if (result instanceof Refusal) throw new Error(`refused: ${result.code}`);
  return result;
}
