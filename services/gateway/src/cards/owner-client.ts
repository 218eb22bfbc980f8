import { type Clock, within } from '@event-gateway/runtime';
import { errors, Pool } from 'undici';
import type { OwnerName } from './cards-metrics.js';
import type { OwnerAnswer, OwnerFault } from './owner-answer.js';
import { OwnerBreaker, type OwnerVerdict } from './owner-breaker.js';
import { RequestSlots } from './request-slots.js';

export interface OwnerRequest<T> {
  /** Path and query, percent-encoded. */
  readonly path: string;
  /** False for an answer about something else than was asked for: malformed. */
  readonly answers?: (value: T) => boolean;
  /** JSON; makes it a POST. */
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Goes before others that wait, and is never refused for their number. */
  readonly isUrgent?: boolean;
}

export interface OwnerClientOptions {
  readonly name: OwnerName;
  /** Its path is put before those of the requests. */
  readonly baseUrl: string;
  readonly bearerToken: string | undefined;
  /** From sending the request to the last byte of the answer. */
  readonly timeoutMs: number;
  /** How long after the timeout an answer is still taken, as `late`; 0: not at all. */
  readonly lateMs: number;
  readonly breakerOpenMs: number;
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  readonly maxResponseBytes: number;
  /** Statuses that say `none`; every other status but 200 is a fault. */
  isNone(status: number): boolean;
}

/** What is told about an owner. */
export interface OwnerReport {
  fetched(owner: OwnerName, ms: number): void;
  fault(owner: OwnerName, reason: OwnerFault): void;
  /** Called on changes only. */
  breaker(owner: OwnerName, isOpen: boolean): void;
}

/** Requests that are already lost are not worth a body of any size. */
const maxDiscardedBytes = 65_536;

/**
 * HTTP to one owner: keep-alive connections, bounded in number, in time and in size, behind a breaker. A request never
 * rejects: what can go wrong is a fault with a reason.
 */
export class OwnerClient<T> {
  readonly #options: OwnerClientOptions;
  readonly #decode: (body: Uint8Array) => T | undefined;
  readonly #clock: Clock;
  readonly #report: OwnerReport;
  readonly #breaker: OwnerBreaker;
  readonly #slots: RequestSlots;
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #headers: Readonly<Record<string, string>>;
  /** Requests that nobody waits for any more. */
  #lateRequests = 0;

  /** `decode` returns undefined for a malformed body. */
  constructor(options: OwnerClientOptions, decode: (body: Uint8Array) => T | undefined, clock: Clock, report: OwnerReport) {
    this.#options = options;
    this.#decode = decode;
    this.#clock = clock;
    this.#report = report;
    this.#breaker = new OwnerBreaker(clock, { openMs: options.breakerOpenMs }, (isOpen) => report.breaker(options.name, isOpen));
    this.#slots = new RequestSlots(options.maxConcurrent, options.maxQueued);
    const url = new URL(options.baseUrl);
    this.#basePath = url.pathname.replace(/\/+$/, '');
    this.#headers = {
      accept: 'application/json',
      ...(options.bearerToken === undefined ? {} : { authorization: `Bearer ${options.bearerToken}` }),
    };
    this.#pool = new Pool(url.origin, {
      // Those that are late keep theirs, and must not be in the way of the others.
      connections: options.maxConcurrent * (options.lateMs > 0 ? 2 : 1),
      maxResponseSize: options.maxResponseBytes,
      connect: { timeout: options.timeoutMs },
      // One timer of ours ends the request as a whole; these measure pauses only.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** False while the owner is left alone or tried: nobody should wait for it. */
  get isServing(): boolean {
    return this.#breaker.isClosed;
  }

  /** Ms until the owner is asked again; 0 when it serves. */
  get waitMs(): number {
    return this.#breaker.waitMs;
  }

  /** Called when the owner, left alone for a while, should be tried with a request that somebody wants. */
  onProbe(probe: () => void): void {
    this.#breaker.onProbe(probe);
  }

  /** Never rejects. */
  async request(request: OwnerRequest<T>): Promise<OwnerAnswer<T>> {
    const answer = this.#breaker.waitMs > 0 ? fault('breaker_open') : await this.#requestInTurn(request);
    if (answer.kind === 'fault') this.#report.fault(this.#options.name, answer.reason);
    return answer;
  }

  async stop(): Promise<void> {
    this.#breaker.stop();
    await this.#pool.destroy();
  }

  async #requestInTurn(request: OwnerRequest<T>): Promise<OwnerAnswer<T>> {
    const slot = await this.#slots.take(request.signal, request.isUrgent);
    if (slot !== 'granted') return fault(slot === 'full' ? 'overloaded' : 'aborted');
    try {
      const judged = await this.#breaker.run(async () => {
        const answer = await this.#send(request);
        return { answer, verdict: verdictOf(answer) };
      });
      return judged?.answer ?? fault('breaker_open');
    } finally {
      this.#slots.release();
    }
  }

  /** An owner that is slow for a moment has done the work: its answer is a good card, only too late for the frames that wanted it. */
  async #send(request: OwnerRequest<T>): Promise<OwnerAnswer<T>> {
    const { timeoutMs, lateMs, maxConcurrent } = this.#options;
    const controller = new AbortController();
    const answer = this.#begin(request, controller);
    const inTime = await within(this.#clock, timeoutMs, answer);
    if (inTime !== undefined) return inTime;
    if (lateMs > 0 && this.#lateRequests < maxConcurrent)
      return { kind: 'fault', reason: 'timeout', late: this.#awaitLate(answer, controller) };
    controller.abort();
    return fault('timeout');
  }

  async #awaitLate(answer: Promise<OwnerAnswer<T>>, controller: AbortController): Promise<OwnerAnswer<T>> {
    this.#lateRequests++;
    const late = await within(this.#clock, this.#options.lateMs, answer);
    this.#lateRequests--;
    controller.abort();
    return late ?? fault('timeout');
  }

  /** Never rejects. */
  async #begin(request: OwnerRequest<T>, controller: AbortController): Promise<OwnerAnswer<T>> {
    const abort = (): void => controller.abort();
    request.signal?.addEventListener('abort', abort, { once: true });
    const startedMs = this.#clock.nowMs();
    try {
      return await this.#exchange(request, controller.signal);
    } catch (error) {
      if (request.signal?.aborted) return fault('aborted');
      return fault(controller.signal.aborted ? 'timeout' : reasonOf(error));
    } finally {
      request.signal?.removeEventListener('abort', abort);
      this.#report.fetched(this.#options.name, this.#clock.nowMs() - startedMs);
    }
  }

  async #exchange(request: OwnerRequest<T>, signal: AbortSignal): Promise<OwnerAnswer<T>> {
    const { statusCode, body } = await this.#pool.request({
      method: request.body === undefined ? 'GET' : 'POST',
      path: this.#basePath + request.path,
      headers: request.body === undefined ? this.#headers : { ...this.#headers, 'content-type': 'application/json' },
      body: request.body ?? null,
      signal,
    });
    if (statusCode !== 200) {
      await body.dump({ limit: maxDiscardedBytes, signal });
      return this.#options.isNone(statusCode) ? { kind: 'none' } : fault('status');
    }
    const value = this.#decode(await body.bytes());
    if (value === undefined || request.answers?.(value) === false) return fault('malformed');
    return { kind: 'found', value };
  }
}

function fault(reason: OwnerFault): { readonly kind: 'fault'; readonly reason: OwnerFault } {
  return { kind: 'fault', reason };
}

function reasonOf(error: unknown): OwnerFault {
  return error instanceof errors.ResponseExceededMaxSizeError ? 'oversized' : 'unreachable';
}

function verdictOf(answer: OwnerAnswer<unknown>): OwnerVerdict {
  if (answer.kind !== 'fault') return 'ok';
  return answer.reason === 'aborted' ? 'none' : 'fault';
}
