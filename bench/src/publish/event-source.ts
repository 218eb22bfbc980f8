import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { SeededRandom } from '@event-gateway/fleet';
import { build, type Histogram } from 'hdr-histogram-js';
import { monotonicUs } from '../host/monotonic-clock.js';
import { stampOffset, writeStamp } from '../workload/stamp.js';
import { type BenchEvent, eventsOf } from '../workload/workload.js';
import { busFormats } from './bus-formats.js';
import type { PacedReply, PacedRequest, PrepareRequest } from './publish-calls.js';
import { redisCommand } from './redis-command.js';

interface Encoded {
  readonly bytes: Buffer;
  readonly stampAt: number;
}

// Long enough to sleep, short enough that replies to the parent and unwritten bytes don't wait.
const longestSleepMs = 20;
const eventsPerWrite = 100;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** One workload on its way to one Redis, encoded beforehand, on a connection that asks for no replies. */
export class EventSource {
  readonly #options: PrepareRequest;
  readonly #pool: readonly Encoded[];
  readonly #socket: Socket;
  #next = 0;
  #isHalted = false;

  private constructor(options: PrepareRequest, socket: Socket) {
    this.#options = options;
    this.#socket = socket;
    this.#pool = eventsOf(options.workload, options.poolEvents).map((event) => this.#encode(event));
  }

  static async open(options: PrepareRequest): Promise<EventSource> {
    const socket = connect({ host: '127.0.0.1', port: options.redisPort, noDelay: true });
    await once(socket, 'connect');
    return new EventSource(options, socket);
  }

  async burst(events: number, thenTo: readonly string[] | undefined): Promise<void> {
    this.#socket.write(redisCommand('CLIENT', 'REPLY', 'OFF'));
    for (let left = events; left > 0; left -= eventsPerWrite) {
      this.#socket.cork();
      for (let i = 0; i < Math.min(left, eventsPerWrite); i++) this.#socket.write(this.#take().bytes);
      this.#socket.uncork();
      if (this.#socket.writableNeedDrain) await once(this.#socket, 'drain');
    }
    if (thenTo !== undefined) this.#socket.write(this.#encode(eventTo(thenTo)).bytes);
    await this.#untilTaken();
  }

  async paced({ eventsPerS, durationMs, seed }: PacedRequest): Promise<PacedReply> {
    this.#isHalted = false;
    this.#socket.write(redisCommand('CLIENT', 'REPLY', 'OFF'));
    const lateness = build({ lowestDiscernibleValue: 1, highestTrackableValue: 60_000_000, numberOfSignificantValueDigits: 3 });
    const events = await this.#follow(arrivals(eventsPerS, durationMs, seed), lateness);
    await this.#untilTaken();
    return { events, lateP50Us: lateness.getValueAtPercentile(50), lateP99Us: lateness.getValueAtPercentile(99) };
  }

  /** Ends what `paced` is doing. */
  halt(): void {
    this.#isHalted = true;
  }

  close(): void {
    this.#socket.destroy();
  }

  /** A timer would be a millisecond late; a blocking wait is some 60 µs late, and the socket is written synchronously. */
  async #follow(arrivalsUs: Iterable<number>, lateness: Histogram): Promise<number> {
    const startUs = monotonicUs() + 1000;
    let count = 0;
    for (const arrivalUs of arrivalsUs) {
      const dueUs = startUs + arrivalUs;
      for (let waitUs = dueUs - monotonicUs(); waitUs > 0; waitUs = dueUs - monotonicUs()) {
        if (this.#socket.writableLength > 0 || waitUs > longestSleepMs * 1000) await turn();
        Atomics.wait(sleeper, 0, 0, Math.min(waitUs / 1000, longestSleepMs));
      }
      if (this.#isHalted) break;
      const { bytes, stampAt } = this.#take();
      writeStamp(bytes, stampAt, dueUs);
      lateness.recordValue(Math.max(1, monotonicUs() - dueUs));
      this.#socket.write(bytes);
      if (++count % 256 === 0) await turn();
    }
    return count;
  }

  #take(): Encoded {
    const encoded = this.#pool[this.#next];
    if (encoded === undefined) throw new Error('an empty pool of events');
    this.#next = (this.#next + 1) % this.#pool.length;
    return encoded;
  }

  /** Redis executes a connection's commands in order: when it answers this one, it has executed all before it. */
  async #untilTaken(): Promise<void> {
    const answered = once(this.#socket, 'data');
    this.#socket.write(redisCommand('CLIENT', 'REPLY', 'ON'));
    await answered;
  }

  #encode(event: BenchEvent): Encoded {
    const bytes = busFormats[this.#options.format](event, this.#options.maxLen);
    return { bytes, stampAt: stampOffset(bytes) };
  }
}

function eventTo(recipients: readonly string[]): BenchEvent {
  const [event] = eventsOf({ seed: 1, name: 'mark', conversations: 1, membersEach: 1, firstUser: 0, users: 1 }, 1);
  if (event === undefined) throw new Error('no event');
  return { ...event, recipients };
}

/** Times from the start in microseconds. */
function* arrivals(eventsPerS: number, durationMs: number, seed: number): Generator<number> {
  const random = new SeededRandom(seed);
  const meanUs = 1_000_000 / eventsPerS;
  for (let atUs = 0; atUs < durationMs * 1000; atUs -= Math.log(1 - random.next()) * meanUs) yield atUs;
}
