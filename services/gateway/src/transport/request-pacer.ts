import type { Clock, Timer } from '@event-gateway/runtime';

/** A socket that has been accepted and has not said what it wants. */
export interface UnreadSocket {
  /** Nothing is read of it until `resume`. */
  pause(): void;
  resume(): void;
}

/**
 * Requests are read in small portions, and between any two of them everything else has its turn. A loop that is busy comes late to its
 * steps, and then reads less in a second: what it is busy with matters more than the line.
 */
const stepMs = 5;

/** What is read at the least, however low the accept rate is. */
const minPerSecond = 1000;

/** A line that would take longer goes faster: clients give a handshake ten seconds and more. */
const longestWaitMs = 5000;

/** And one that has taken longer all the same is not read in one go. */
const shortestHasteMs = 200;

/**
 * So many sockets may be read before their requests are there: if these then come all at once, they hold up the loop for some 7 ms
 * (0.2 ms for one that is accepted).
 */
const maxUnread = 32;

/** A request that has not come by then is not waited for: a client that stays silent holds up nobody for longer. */
const patienceMs = 500;

/**
 * How fast the requests of new sockets are read. The transport accepts whatever knocks, and would read and answer thousands of requests
 * in one turn of the loop, while those who are connected wait for their events. Here a crowd stands in line instead, oldest first: its
 * requests stay unread in the kernel. The accept rate is judged when a request is read, so a client that ignores every `Retry-After`
 * gains nothing by coming again at once.
 */
export class RequestPacer {
  readonly #clock: Clock;
  readonly #perMs: number;
  /** Paused, oldest first. */
  readonly #waiting: { readonly socket: UnreadSocket; readonly acceptedMs: number }[] = [];
  /** When those were accepted that may be read and have not made their request; oldest first. */
  readonly #unread: number[] = [];
  /** Allowed to be read in this step. */
  #taken = 0;
  #timer: Timer | undefined;
  #isStopped = false;

  /** @param perSecond requests to read, as long as nobody would wait for too long */
  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock;
    this.#perMs = Math.max(minPerSecond, perSecond) / 1000;
  }

  /**
   * To be told of every new socket before anything is read of it.
   * @param mayWait whether there is room for it to stand in line; if not, it is read at once
   */
  onAccepted(socket: UnreadSocket, mayWait: boolean): void {
    if (this.#isStopped) return;
    const nowMs = this.#clock.nowMs();
    if (this.#timer === undefined) this.#beginStep(nowMs);
    const isHisTurn = this.#waiting.length === 0 && this.#mayTake(this.#perMs * stepMs);
    if (isHisTurn || !mayWait) return this.#take(nowMs);
    socket.pause();
    this.#waiting.push({ socket, acceptedMs: nowMs });
  }

  /** A socket has made its request. Which one does not matter: how many have not is what counts. */
  onRequest(): void {
    this.#unread.shift();
  }

  /** Nobody waits any more: whoever stands in line is read at once, to be refused as long as there is somebody to do it. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const { socket } of this.#waiting.splice(0)) socket.resume();
  }

  #step(): void {
    this.#timer = undefined;
    const [oldest] = this.#waiting;
    if (oldest === undefined) return;
    const nowMs = this.#clock.nowMs();
    this.#beginStep(nowMs);
    const leftMs = Math.max(shortestHasteMs, oldest.acceptedMs + longestWaitMs - nowMs);
    const most = stepMs * Math.max(this.#perMs, this.#waiting.length / leftMs);
    for (const { socket, acceptedMs } of this.#waiting) {
      if (!this.#mayTake(most)) break;
      this.#take(acceptedMs);
      socket.resume();
    }
    this.#waiting.splice(0, this.#taken);
  }

  #beginStep(nowMs: number): void {
    this.#taken = 0;
    // Whoever has stood in line for that long has made its request, or is silent: it is read by the next step.
    while (nowMs - (this.#unread[0] ?? nowMs) >= patienceMs) this.#unread.shift();
    this.#timer = this.#clock.setTimeout(() => this.#step(), stepMs);
  }

  #mayTake(most: number): boolean {
    return this.#taken < most && this.#unread.length < maxUnread;
  }

  #take(acceptedMs: number): void {
    this.#taken++;
    this.#unread.push(acceptedMs);
  }
}
