import type { Clock } from '@event-gateway/runtime';
import type { StreamId, UserId } from '@event-gateway/protocol';
import { type Matchable, type RecipientIndex, RecipientMatcher } from '../hub/match-recipients.js';
import { UserFilter } from '../hub/user-filter.js';
import type { MissedEvent } from '../tail/event-segment.js';
import type { RecentEvents } from '../tail/recent-events.js';

/** What a scan found for one user. */
export interface Found {
  readonly events: readonly MissedEvent[];
  /** Everything up to this position, and up to this id, has been looked at. */
  readonly position: number;
  readonly upTo: StreamId;
}

interface Request {
  readonly afterPosition: number;
  readonly events: MissedEvent[];
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

interface Searched extends Matchable {
  readonly requests: Request[];
}

/** A scan takes the loop for this many events at a time: about 1 ms. */
const maxEventsPerTurn = 1000;
/** So little is looked through at once, for one user alone (0.1 ms); in a storm, five hundred do that in a second. */
const maxEventsAtOnce = 100;
/** One part scanning, four parts for everybody else: those who were here all the time must not wait for those who come back. */
const pausePerScan = 4;
/** But nobody waits longer than this for a scan to begin. */
const maxPauseMs = 500;

/**
 * Looks through the tail for the events of users who come back. The tail has no index by user, since one would cost every event
 * for the sake of a few resumes; instead many resumes of the same moment share one pass.
 */
export class TailScan {
  readonly name = 'tail scan';
  readonly #tail: RecentEvents;
  readonly #clock: Clock;
  readonly #filter = new UserFilter();
  #waiting = new Map<string, Searched>();
  readonly #stopping = new AbortController();
  #scanning: Promise<void> | undefined;

  constructor(tail: RecentEvents, clock: Clock) {
    this.#tail = tail;
    this.#clock = clock;
  }

  /**
   * The user's events after a position. Synchronous when there is little to look at: then nothing can come in between. A promise rejects when
   * its pass fails, or is not made any more.
   */
  find(userId: UserId, afterPosition: number): Found | Promise<Found> {
    if (this.#tail.lastPosition - afterPosition <= maxEventsAtOnce) return this.#findNow(userId, afterPosition);
    return new Promise((resolve, reject) => {
      const request: Request = { afterPosition, events: [], resolve, reject };
      const searched = this.#waiting.get(userId);
      if (searched === undefined) this.#waiting.set(userId, { requests: [request], matchStamp: 0 });
      else searched.requests.push(request);
      this.#scanning ??= this.#scanForAll();
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#scanning;
  }

  #findNow(userId: UserId, afterPosition: number): Found {
    const request: Request = { afterPosition, events: [], resolve: () => undefined, reject: () => undefined };
    const searched: Searched = { requests: [request], matchStamp: 0 };
    const idBytes = Buffer.from(userId);
    const only: RecipientIndex<Searched> = {
      mayHave: (bytes, start, end) => isSame(idBytes, bytes, start, end),
      get: (id) => (id === userId ? searched : undefined),
    };
    const { lastPosition: position, lastId: upTo } = this.#tail;
    this.#scan(new RecipientMatcher(only), afterPosition, position);
    return { events: request.events, position, upTo };
  }

  /** Never rejects: a pass that fails fails its own requests, and the next one goes on. */
  async #scanForAll(): Promise<void> {
    const { signal } = this.#stopping;
    while (this.#waiting.size > 0) {
      // Whoever asks in this turn shares the pass.
      await new Promise(setImmediate);
      const startedMs = this.#clock.nowMs();
      await this.#onePass();
      // Those who come meanwhile share the next one.
      await this.#clock.sleep(Math.min(maxPauseMs, pausePerScan * (this.#clock.nowMs() - startedMs)), signal);
    }
    this.#scanning = undefined;
  }

  async #onePass(): Promise<void> {
    const searched = this.#waiting;
    this.#waiting = new Map();
    const requests = [...searched.values()].flatMap((user) => user.requests);
    try {
      const position = await this.#look(searched, requests);
      const { lastId: upTo } = this.#tail;
      for (const { events, resolve } of requests) resolve({ events, position, upTo });
    } catch (error) {
      for (const { reject } of requests) reject(error);
    }
  }

  /** @returns up to which position it has looked. */
  async #look(searched: ReadonlyMap<string, Searched>, requests: readonly Request[]): Promise<number> {
    const ids = [...searched.keys()].map((userId) => Buffer.from(userId));
    for (const id of ids) this.#filter.add(id);
    const matcher = new RecipientMatcher<Searched>({
      mayHave: (bytes, start, end) => this.#filter.mayHave(bytes, start, end),
      get: (userId) => searched.get(userId),
    });
    try {
      let position = this.#tail.lastPosition;
      for (const { afterPosition } of requests) position = Math.min(position, afterPosition);
      // To the end as it is then: whoever was behind by more than a moment's events again would have to wait for one more pass.
      for (;;) {
        this.#stopping.signal.throwIfAborted();
        const next = Math.min(this.#tail.lastPosition, position + maxEventsPerTurn);
        this.#scan(matcher, position, next);
        position = next;
        if (position >= this.#tail.lastPosition) return position;
        await new Promise(setImmediate);
      }
    } finally {
      for (const id of ids) this.#filter.remove(id);
    }
  }

  /** Events in (after, until] → the requests of their recipients. */
  #scan(matcher: RecipientMatcher<Searched>, after: number, until: number): void {
    for (const [position, event] of this.#tail.range(after, until)) {
      const found = matcher.match(event.recipients);
      // An entry that is malformed has been counted and buried when it was read.
      if (typeof found === 'string') continue;
      // What the tail gives out is good for one turn. One copy is enough for all who missed it, a large group that comes back together.
      let copy: MissedEvent | undefined;
      for (const { requests } of found) {
        for (const request of requests) {
          if (position <= request.afterPosition) continue;
          copy ??= { id: event.id, envelope: Buffer.from(event.envelope) };
          request.events.push(copy);
        }
      }
    }
  }
}

function isSame(id: Buffer, bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== id.length) return false;
  for (let i = 0; i < id.length; i++) if (id[i] !== bytes[start + i]) return false;
  return true;
}
