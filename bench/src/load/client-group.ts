import { build, type Histogram } from 'hdr-histogram-js';
import { readStamp } from '../workload/stamp.js';
import type { ClientProtocol, LoadUser } from './protocols/client-protocol.js';

/** An open connection of a group. */
export interface GroupClient {
  readonly user: LoadUser;
  readonly localAddress: string;
  /** The last one that it was told, if the group follows cursors. */
  readonly cursor: string | undefined;
  send(text: string): void;
  destroy(): void;
}

/** What the clients of a group have seen since its counters were last reset. */
export interface GroupCounts {
  readonly open: number;
  readonly frames: number;
  readonly bytes: number;
  /** On the machine's clock; 0 when there was none. */
  readonly lastFrameUs: number;
  /** Messages that were no events, and closes, by name. */
  readonly others: Readonly<Record<string, number>>;
}

/** Largest latency that is told apart from larger ones: a minute. */
const highestLatencyUs = 60_000_000;
const newHistogram = (): Histogram =>
  build({ lowestDiscernibleValue: 1, highestTrackableValue: highestLatencyUs, numberOfSignificantValueDigits: 3 });

const eventStart = Buffer.from('"sent_us":');
const cursorKey = Buffer.from('"cursor":"');
const quote = 0x22;
const heartbeatTickMs = 100;

/** The clients of one system in one process of the load generator, and their counters. */
export class ClientGroup {
  readonly protocol: ClientProtocol;
  readonly followsCursors: boolean;
  readonly #clients = new Set<GroupClient>();
  readonly #prefix: Buffer | undefined;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  readonly #others = new Map<string, number>();
  #onLost: ((client: GroupClient) => void) | undefined;
  #frames = 0;
  #bytes = 0;
  #lastFrameUs = 0;
  #latencies: Histogram | undefined;

  constructor(protocol: ClientProtocol, followsCursors: boolean) {
    this.protocol = protocol;
    this.followsCursors = followsCursors;
    this.#prefix = protocol.eventPrefix;
    const { heartbeat } = protocol;
    if (heartbeat !== undefined) this.#heartbeat = setInterval(this.#beatsOf(heartbeat), heartbeatTickMs);
  }

  get clients(): Iterable<GroupClient> {
    return this.#clients;
  }

  add(client: GroupClient): void {
    this.#clients.add(client);
  }

  remove(client: GroupClient): void {
    if (this.#clients.delete(client)) this.#onLost?.(client);
  }

  /** Called for every open client that closes, whoever closed it. */
  onLost(listener: (client: GroupClient) => void): void {
    this.#onLost = listener;
  }

  reset(measuresLatency: boolean): void {
    this.#frames = 0;
    this.#bytes = 0;
    this.#lastFrameUs = 0;
    this.#others.clear();
    this.#latencies = measuresLatency ? newHistogram() : undefined;
  }

  counts(): GroupCounts {
    const counted = { frames: this.#frames, bytes: this.#bytes, lastFrameUs: this.#lastFrameUs };
    return { open: this.#clients.size, ...counted, others: Object.fromEntries(this.#others) };
  }

  latencies(): Histogram | undefined {
    return this.#latencies;
  }

  /** Whether the message in [start, end) is an event; counts it then. */
  countEvent(bytes: Buffer, start: number, end: number, nowUs: number): boolean {
    const events = this.#prefix === undefined ? countOccurrences(bytes, start, end) : startsWith(bytes, start, this.#prefix) ? 1 : 0;
    if (events === 0) return false;
    this.#frames += events;
    this.#bytes += end - start;
    this.#lastFrameUs = nowUs;
    if (this.#latencies !== undefined) this.#recordLatencies(this.#latencies, bytes, start, end, nowUs);
    return true;
  }

  cursorOf(bytes: Buffer, start: number, end: number): string | undefined {
    const at = bytes.indexOf(cursorKey, start);
    if (at < 0 || at >= end) return undefined;
    return bytes.toString('latin1', at + cursorKey.length, bytes.indexOf(quote, at + cursorKey.length));
  }

  countOther(name: string): void {
    this.#others.set(name, (this.#others.get(name) ?? 0) + 1);
  }

  close(): void {
    clearInterval(this.#heartbeat);
    this.#onLost = undefined;
    for (const client of this.#clients) client.destroy();
    this.#clients.clear();
  }

  #recordLatencies(histogram: Histogram, bytes: Buffer, start: number, end: number, nowUs: number): void {
    let from = start;
    for (;;) {
      const sentUs = readStamp(bytes, from, end);
      if (sentUs === undefined) return;
      histogram.recordValue(Math.min(Math.max(nowUs - sentUs, 1), highestLatencyUs));
      if (this.#prefix !== undefined) return;
      from = bytes.indexOf(eventStart, from) + eventStart.length;
    }
  }

  /** Every client beats once in a period, evenly spread over its ticks. */
  #beatsOf({ text, everyMs }: { readonly text: string; readonly everyMs: number }): () => void {
    const ticks = everyMs / heartbeatTickMs;
    let tick = 0;
    return () => {
      let index = 0;
      for (const client of this.#clients) if (index++ % ticks === tick) client.send(text);
      tick = (tick + 1) % ticks;
    };
  }
}

function startsWith(bytes: Buffer, start: number, prefix: Buffer): boolean {
  for (let i = 0; i < prefix.length; i++) if (bytes[start + i] !== prefix[i]) return false;
  return true;
}

function countOccurrences(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(eventStart, start); at >= 0 && at < end; at = bytes.indexOf(eventStart, at + 1)) count++;
  return count;
}
