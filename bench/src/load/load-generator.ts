import { eventually } from '@event-gateway/fleet';
import { decodeFromCompressedBase64, type Histogram } from 'hdr-histogram-js';
import { cpuTimeUs } from '../host/cpu-time.js';
import { yieldCores } from '../host/yield-cores.js';
import { Child } from '../processes/child.js';
import type { GroupCounts } from './client-group.js';
import type { LoadCalls } from './load-calls.js';
import type { LoadUser } from './protocols/client-protocol.js';
import type { ProtocolName } from './protocols/protocols.js';
import type { ReconnectCounts, ReconnectPolicy } from './reconnecting.js';

export interface ConnectOptions {
  readonly group: string;
  readonly protocol: ProtocolName;
  readonly port: number;
  readonly users: readonly LoadUser[];
  /** Default false. */
  readonly isTls?: boolean;
  readonly followsCursors?: boolean;
}

export interface LoadGeneratorOptions {
  /** Its clients stand for other machines: they get what of the cores nobody else wants. Default false. */
  readonly yieldsCores?: boolean;
  /** Users with one source address. The default is well below the ports that one pair of addresses has. */
  readonly usersPerAddress?: number;
}

const openingsAtOnce = 64;
/** Of all load generators of this process: an address is never used twice. */
let addressesTaken = 0;

/** The clients of everything that is measured, in processes of their own. */
export class LoadGenerator {
  readonly #processes: readonly Child<LoadCalls>[];
  readonly #yieldsCores: boolean;
  readonly #usersPerAddress: number;

  constructor(processes: number, { yieldsCores = false, usersPerAddress = 5000 }: LoadGeneratorOptions = {}) {
    const module = new URL('./main.js', import.meta.url);
    this.#processes = Array.from(
      { length: processes },
      (_, index) => new Child<LoadCalls>(`load-${index + 1}`, module, { ownSession: yieldsCores }),
    );
    this.#usersPerAddress = usersPerAddress;
    this.#yieldsCores = yieldsCores;
  }

  get processCount(): number {
    return this.#processes.length;
  }

  /** CPU that generating and counting has taken so far. */
  cpuUs(): number {
    return this.#processes.reduce((sum, { pid }) => sum + cpuTimeUs(pid), 0);
  }

  /** Resolves when all of them are open. @throws when one of them is refused */
  async connect({ group, protocol, port, users, isTls = false, followsCursors = false }: ConnectOptions): Promise<void> {
    if (this.#yieldsCores) for (const { pid } of this.#processes) await yieldCores(pid);
    const shares = this.#processes.map((process, index) => ({
      process,
      users: users.filter((_, at) => at % this.#processes.length === index),
    }));
    await Promise.all(
      shares.map(async (share) => {
        for (let at = 0; at < share.users.length; at += this.#usersPerAddress) {
          const slice = share.users.slice(at, at + this.#usersPerAddress);
          const rest = { concurrency: openingsAtOnce, localAddress: nextAddress(), isTls, followsCursors };
          await share.process.call('connect', { group, protocol, port, users: slice, ...rest });
        }
      }),
    );
  }

  /** Counters of the group start at 0 again. */
  async reset(group: string, { measuresLatency = false } = {}): Promise<void> {
    await this.#all('reset', { group, measuresLatency });
  }

  async counts(group: string): Promise<GroupCounts> {
    return (await this.#all('counts', { group })).reduce(sumOf);
  }

  /** Resolves when the group has got that many events since its last reset. @throws when more came, or too few in time */
  async untilFrames(group: string, expected: number, timeoutMs = 60_000): Promise<GroupCounts> {
    let counts: GroupCounts | undefined;
    await eventually(
      async () => {
        counts = await this.counts(group);
        if (counts.frames < expected) throw new Error(`${group}: ${counts.frames} of ${expected} frames, ${JSON.stringify(counts.others)}`);
      },
      { timeoutMs, intervalMs: 10 },
    );
    if (counts === undefined || counts.frames > expected) throw new Error(`${group}: ${counts?.frames} frames, more than ${expected}`);
    return counts;
  }

  /** Microseconds, since the last reset. */
  async latencies(group: string): Promise<Histogram> {
    const [first, ...rest] = (await this.#all('latencies', { group })).map((encoded) => decodeFromCompressedBase64(encoded));
    if (first === undefined) throw new Error('no process of the load generator');
    for (const histogram of rest) first.add(histogram);
    return first;
  }

  /** From now on clients of the group that lose their connection come back by themselves. */
  async comeBack(group: string, policy: ReconnectPolicy): Promise<void> {
    await this.#all('comeBack', { group, policy });
  }

  async reconnects(group: string): Promise<ReconnectCounts> {
    return (await this.#all('reconnects', { group })).reduce((one, other) => ({
      lost: one.lost + other.lost,
      back: one.back + other.back,
      refused: one.refused + other.refused,
      failed: one.failed + other.failed,
      lastBackUs: Math.max(one.lastBackUs, other.lastBackUs),
    }));
  }

  /** Resets all connections of the group. */
  async close(group: string): Promise<void> {
    await this.#all('close', { group });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop()));
  }

  #all<N extends keyof LoadCalls>(name: N, request: LoadCalls[N]['request']): Promise<LoadCalls[N]['reply'][]> {
    return Promise.all(this.#processes.map((process) => process.call(name, request)));
  }
}

function nextAddress(): string {
  const next = addressesTaken++;
  return `127.0.${1 + (Math.floor(next / 250) % 250)}.${1 + (next % 250)}`;
}

function sumOf(one: GroupCounts, other: GroupCounts): GroupCounts {
  const others = new Map(Object.entries(one.others));
  for (const [name, count] of Object.entries(other.others)) others.set(name, (others.get(name) ?? 0) + count);
  return {
    open: one.open + other.open,
    frames: one.frames + other.frames,
    bytes: one.bytes + other.bytes,
    lastFrameUs: Math.max(one.lastFrameUs, other.lastFrameUs),
    others: Object.fromEntries(others),
  };
}
