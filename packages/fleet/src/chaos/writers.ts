import { Outbox } from './outbox.js';
import type { Messenger, MessengerEvent } from './messenger.js';
import type { Conversation, Population } from './population.js';
import type { SeededRandom } from '../tools/seeded-random.js';

const writerCount = 4;
const eventsPerSecond = 50;
const tickMs = 20;
/** Of the events. */
const editShare = 0.1;

/** People who write at a steady rate, and the messenger's processes that publish what they write: each conversation has one of them. */
export class Writers {
  readonly #messenger: Messenger;
  readonly #conversations: readonly Conversation[];
  readonly #random: SeededRandom;
  readonly #outboxes: readonly Outbox[];
  #timer: NodeJS.Timeout | undefined;

  constructor(messenger: Messenger, { conversations }: Population, random: SeededRandom, masterPort: () => Promise<number>) {
    this.#messenger = messenger;
    this.#conversations = conversations;
    this.#random = random;
    this.#outboxes = Array.from({ length: writerCount }, () => new Outbox(masterPort));
  }

  /** What is kept by the messenger and not confirmed by Redis yet. */
  get backlog(): number {
    return this.#outboxes.reduce((sum, { backlog }) => sum + backlog, 0);
  }

  get retries(): number {
    return this.#outboxes.reduce((sum, { retries }) => sum + retries, 0);
  }

  start(): void {
    const startedAtMs = performance.now();
    let written = 0;
    this.#timer = setInterval(() => {
      // Late ticks are made up for: the rate is steady, whatever this process does.
      const due = ((performance.now() - startedAtMs) * eventsPerSecond) / 1000;
      for (; written < due; written++) this.#writeOne();
    }, tickMs);
  }

  /** One message in every conversation. */
  writeEverywhere(): void {
    for (const conversation of this.#conversations) this.#publish(conversation, this.#messenger.write(conversation));
  }

  pause(): void {
    clearInterval(this.#timer);
  }

  stop(): void {
    this.pause();
    for (const outbox of this.#outboxes) outbox.stop();
  }

  #writeOne(): void {
    const conversation = this.#random.pick(this.#conversations);
    const edited = this.#random.next() < editShare ? this.#messenger.edit(conversation, this.#random.integer(0, 1000)) : undefined;
    this.#publish(conversation, edited ?? this.#messenger.write(conversation));
  }

  #publish(conversation: Conversation, { type, conversationId, eventId, payload }: MessengerEvent): void {
    const outbox = this.#outboxes[this.#conversations.indexOf(conversation) % writerCount];
    outbox?.put({ type, conversationId, eventId, recipients: conversation.participants, payload });
  }
}
