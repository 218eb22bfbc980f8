import type { Clock } from '@event-gateway/runtime';
import type { StreamId, UserId } from '@event-gateway/protocol';
import { type Matchable, type RecipientIndex, RecipientMatcher } from '../hub/match-recipients.js';
import { UserFilter } from '../hub/user-filter.js';
import type { RecentEvent } from '../tail/event-segment.js';
import type { RecentEvents } from '../tail/recent-events.js';

/** What a scan found for one user. */
export interface Found {
  readonly events: readonly RecentEvent[];
  /** Everything up to this position, and up to this id, has been looked at. */
  readonly position: number;
  readonly upTo: StreamId;
}

interface Request {
  readonly afterPosition: number;
  readonly events: RecentEvent[];
  readonly resolve: (found: Found) => void;
}

interface Searched extends Matchable {
  readonly requests: Request[];
}

/** A scan this long is done in one turn (about 1 ms); a longer one takes several, and is shared. */
const maxEventsPerTurn = 1000;

/**
 * Looks through the tail for the events of users who come back. The tail has no index by user, since one would cost every event
 * for the sake of a few resumes; instead many resumes of the same moment share one pass.
 */
export class TailScan {
  readonly #tail: RecentEvents;
  readonly #clock: Clock;
  readonly #filter = new UserFilter();
  #waiting = new Map<string, Searched>();
  #isScanning = false;

  constructor(tail: RecentEvents, clock: Clock) {
    this.#tail = tail;
    this.#clock = clock;
  }

  /** The user's events after a position. Synchronous when there is little to look at: then nothing can come in between. */
  find(userId: UserId, afterPosition: number): Found | Promise<Found> {
    if (this.#tail.lastPosition - afterPosition <= maxEventsPerTurn) return this.#findNow(userId, afterPosition);
    return new Promise((resolve) => {
      const request: Request = { afterPosition, events: [], resolve };
      const searched = this.#waiting.get(userId);
      if (searched === undefined) this.#waiting.set(userId, { requests: [request], matchStamp: 0 });
      else searched.requests.push(request);
      if (!this.#isScanning) void this.#scanForAll();
    });
  }

  #findNow(userId: UserId, afterPosition: number): Found {
    const request: Request = { afterPosition, events: [], resolve: () => undefined };
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

  async #scanForAll(): Promise<void> {
    this.#isScanning = true;
    while (this.#waiting.size > 0) {
      // Whoever asks in this turn shares the pass.
      await new Promise(setImmediate);
      const startedMs = this.#clock.nowMs();
      await this.#onePass();
      // At most half of the time goes into scans; those who come meanwhile share the next one.
      await this.#clock.sleep(Math.min(50, this.#clock.nowMs() - startedMs));
    }
    this.#isScanning = false;
  }

  async #onePass(): Promise<void> {
    const searched = this.#waiting;
    this.#waiting = new Map();
    const ids = [...searched.keys()].map((userId) => Buffer.from(userId));
    for (const id of ids) this.#filter.add(id);
    const matcher = new RecipientMatcher<Searched>({
      mayHave: (bytes, start, end) => this.#filter.mayHave(bytes, start, end),
      get: (userId) => searched.get(userId),
    });
    const { lastPosition: until, lastId: upTo } = this.#tail;
    let position = until;
    for (const { requests } of searched.values()) for (const { afterPosition } of requests) position = Math.min(position, afterPosition);
    while (position < until) {
      const next = Math.min(until, position + maxEventsPerTurn);
      this.#scan(matcher, position, next);
      position = next;
      await new Promise(setImmediate);
    }
    for (const id of ids) this.#filter.remove(id);
    for (const { requests } of searched.values()) for (const { events, resolve } of requests) resolve({ events, position: until, upTo });
  }

  /** Events in (after, until] → the requests of their recipients. */
  #scan(matcher: RecipientMatcher<Searched>, after: number, until: number): void {
    for (const [position, event] of this.#tail.range(after, until)) {
      const found = matcher.match(event.recipients);
      // An entry that is malformed has been counted and buried when it was read.
      if (typeof found === 'string') continue;
      for (const { requests } of found)
        for (const request of requests) if (position > request.afterPosition) request.events.push(copyOf(event));
    }
  }
}

/** What the tail gives out is good for one turn. */
function copyOf({ id, recipients, envelope }: RecentEvent): RecentEvent {
  return { id, recipients: Buffer.from(recipients), envelope: Buffer.from(envelope) };
}

function isSame(id: Buffer, bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== id.length) return false;
  for (let i = 0; i < id.length; i++) if (id[i] !== bytes[start + i]) return false;
  return true;
}
