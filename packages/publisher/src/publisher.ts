import type { CommandRedis, RedisCall } from '@event-gateway/redis';
import type { EventEnvelope } from './envelope.js';
import {
  encodeConversationInvalidation,
  encodeEvent,
  encodeMembershipInvalidation,
  encodeUserInvalidation,
  type NewUserCard,
  type Outgoing,
} from './outgoing.js';
import { PublishError } from './publish-error.js';

export interface PublisherOptions {
  /** The stream; with `fanout: 'pubsub'` the channel. Default `messenger.events`. */
  readonly stream?: string;
  /**
   * The stream is trimmed to about this many entries, default 1,000,000. It must hold what is published during the longest outage of a
   * replica that clients should not notice: events a second × seconds. An entry of 300 bytes takes about 400 bytes of Redis.
   */
  readonly maxEntries?: number;
  /** `pubsub` is the gateway's starter mode: at most once, no cursors. Default `streams`. */
  readonly fanout?: 'streams' | 'pubsub';
}

/** The one thing that publishing needs of Redis. */
export type PublisherRedis = Pick<CommandRedis, 'pipeline'>;

/** Redis works off a transaction in one go: about a millisecond for this many entries. */
const maxTransactionCalls = 500;

/** Puts events on the bus and tells replicas which cards have changed. Every call resolves when Redis has confirmed. */
export class Publisher {
  readonly #redis: PublisherRedis;
  readonly #stream: string;
  readonly #maxEntries: number;
  readonly #fanout: 'streams' | 'pubsub';

  constructor(redis: PublisherRedis, { stream = 'messenger.events', maxEntries = 1_000_000, fanout = 'streams' }: PublisherOptions = {}) {
    this.#redis = redis;
    this.#stream = stream;
    this.#maxEntries = maxEntries;
    this.#fanout = fanout;
  }

  /**
   * Resolves with the stream id, or `null` with pub/sub.
   * @throws InvalidEnvelopeError before anything is sent, PublishError when Redis did not confirm
   */
  async publish(event: EventEnvelope): Promise<string | null> {
    const [id = null] = await this.send([encodeEvent(event)]);
    return id;
  }

  /**
   * All of them, in this order, in one round trip per 500. Nothing comes between those 500; between one 500 and the next, what others
   * publish may. When one is invalid none is sent.
   * @throws InvalidEnvelopeError before anything is sent, PublishError when Redis did not confirm all of them (see `send`)
   */
  async publishMany(events: readonly EventEnvelope[]): Promise<(string | null)[]> {
    return this.send(events.map(encodeEvent));
  }

  /** A user's name, avatar or status has changed. With the new card at hand, no replica has to fetch it. */
  async invalidateUser(userId: string, card?: NewUserCard): Promise<void> {
    await this.send([encodeUserInvalidation(userId, card)]);
  }

  /** A conversation's title or avatar has changed. */
  async invalidateConversation(conversationId: string): Promise<void> {
    await this.send([encodeConversationInvalidation(conversationId)]);
  }

  /** Somebody has joined or left a conversation. */
  async memberChanged(conversationId: string): Promise<void> {
    await this.send([encodeMembershipInvalidation(conversationId)]);
  }

  /**
   * What was encoded before, e.g. rows of an outbox, in this order. Up to 500 are one transaction: all of them or none.
   * Resolves with the stream id of each event; `null` for what has none.
   * @throws PublishError when Redis did not confirm all of them; what came before the failing 500 has been sent
   */
  async send(outgoing: readonly Outgoing[]): Promise<(string | null)[]> {
    const ids: (string | null)[] = [];
    for (let from = 0; from < outgoing.length; from += maxTransactionCalls) {
      const chunk = outgoing.slice(from, from + maxTransactionCalls);
      const replies = await this.#confirm(chunk.map((one) => this.#toCall(one)));
      for (const [index, reply] of replies.entries()) ids.push(this.#isStreamed(chunk[index]) ? String(reply) : null);
    }
    return ids;
  }

  async #confirm(calls: readonly RedisCall[]): Promise<readonly unknown[]> {
    // A single command needs no transaction to be all or nothing.
    const sent: readonly RedisCall[] = calls.length === 1 ? calls : [['MULTI'], ...calls, ['EXEC']];
    let replies: readonly unknown[];
    try {
      replies = await this.#redis.pipeline(sent);
    } catch (cause) {
      throw new PublishError(`Redis did not confirm ${calls.length} event(s)`, { cause });
    }
    // Redis names the reason at the command that it refused, and then refuses the whole at EXEC.
    const refusal = replies.find((reply) => reply instanceof Error);
    const last = replies.at(-1);
    const confirmed = calls.length === 1 ? replies : Array.isArray(last) ? (last as readonly unknown[]) : [];
    const failed = refusal ?? confirmed.find((reply) => reply instanceof Error);
    if (failed !== undefined || confirmed.length !== calls.length) {
      throw new PublishError(`Redis refused ${calls.length} event(s)`, { cause: failed });
    }
    return confirmed;
  }

  #isStreamed(outgoing: Outgoing | undefined): boolean {
    return outgoing?.kind === 'event' && this.#fanout === 'streams';
  }

  #toCall(outgoing: Outgoing): RedisCall {
    if (outgoing.kind === 'invalidation') return ['PUBLISH', outgoing.channel, outgoing.message];
    const { recipients, envelope } = outgoing;
    if (this.#fanout === 'pubsub') return ['PUBLISH', this.#stream, `{"recipients":${recipients},${envelope.slice(1)}`];
    return ['XADD', this.#stream, 'MAXLEN', '~', this.#maxEntries, '*', 'recipients', recipients, 'envelope', envelope];
  }
}
