import { eventually, type RedisServer } from '@event-gateway/fleet';
import { compareStreamIds, type StreamId } from '@event-gateway/protocol';
import { keys, RedisConnections, type RedisOptions } from '@event-gateway/redis';
import { type Logger, Metrics, silentLogger, systemClock } from '@event-gateway/runtime';
import { expect } from 'vitest';
import type { BatchHandler, Gap, StreamEntry, TailWarmer } from '../src/fanout/event-source.js';
import { type CanaryListener, noFence, type ReaderFence } from '../src/fanout/stream/ports.js';
import { StreamMetrics } from '../src/fanout/stream/stream-metrics.js';
import { StreamSource, type StreamSourceOptions } from '../src/fanout/stream-source.js';

export const stream = 'messenger.events';

export type HandlerEvent =
  | { readonly kind: 'entry'; readonly id: StreamId; readonly name: string }
  | { readonly kind: 'gap'; readonly gap: Gap };

/** Writes down what the source says, and holds it to its contract while doing so. */
export class RecordingHandler implements BatchHandler, TailWarmer {
  readonly events: HandlerEvent[] = [];
  readonly batches: number[] = [];
  skippedCount = 0;
  tailStart: StreamId | undefined;
  tail: string[] = [];
  tailLimit = Number.POSITIVE_INFINITY;
  readonly violations: string[] = [];
  readonly watchesIds: boolean = true;
  #position: StreamId = '0-0' as StreamId;
  #isHandling = false;
  #gate: Promise<void> | undefined;
  #open: () => void = () => undefined;

  /** Every batch from now on waits inside `handle` until `release`. */
  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  release(): void {
    this.#gate = undefined;
    this.#open();
  }

  get isHandling(): boolean {
    return this.#isHandling;
  }

  async handle(batch: readonly StreamEntry[]): Promise<void> {
    if (this.#isHandling) this.violations.push('handle was called while a batch was being handled');
    if (batch.length === 0) this.violations.push('handle was called with nothing');
    this.#isHandling = true;
    await this.#gate;
    for (const { id, fields } of batch) {
      const entryId = id ?? ('0-0' as StreamId);
      if (this.watchesIds && compareStreamIds(entryId, this.#position) <= 0)
        this.violations.push(`${entryId} came after ${this.#position}`);
      this.#position = entryId;
      this.events.push({ kind: 'entry', id: entryId, name: String(fields[1]) });
    }
    this.batches.push(batch.length);
    this.#isHandling = false;
  }

  gap(gap: Gap): void {
    if (this.#isHandling) this.violations.push('gap was called while a batch was being handled');
    if (gap.cursor !== null) this.#position = gap.cursor;
    this.events.push({ kind: 'gap', gap });
  }

  skipped(count: number): void {
    this.skippedCount += count;
  }

  startAt(id: StreamId): void {
    this.tailStart = id;
    this.tail = [];
  }

  prepend(newestFirst: readonly StreamEntry[]): boolean {
    for (const { fields } of newestFirst) if (this.tail.length < this.tailLimit) this.tail.unshift(String(fields[1]));
    return this.tail.length < this.tailLimit;
  }

  get names(): string[] {
    return this.events.flatMap((event) => (event.kind === 'entry' ? [event.name] : []));
  }

  get ids(): StreamId[] {
    return this.events.flatMap((event) => (event.kind === 'entry' ? [event.id] : []));
  }

  get gaps(): Gap[] {
    return this.events.flatMap((event) => (event.kind === 'gap' ? [event.gap] : []));
  }

  /** Names and gaps in the order in which they came. */
  get story(): string[] {
    return this.events.map((event) => (event.kind === 'entry' ? event.name : `gap:${event.gap.reason}`));
  }
}

export interface ReadingReplica {
  readonly handler: RecordingHandler;
  readonly source: StreamSource;
  readonly connections: RedisConnections;
  readonly metrics: Metrics;
  readonly group: string;
  /** Ends it like kill -9 would: nothing more is acknowledged. */
  kill(): Promise<void>;
}

export interface ReadingReplicaOptions extends Partial<StreamSourceOptions> {
  readonly canary?: CanaryListener;
  readonly fence?: ReaderFence;
  readonly logger?: Logger;
  readonly commandTimeoutMs?: number;
  /** Instead of the server's own address. */
  readonly redis?: Omit<RedisOptions, 'commandTimeoutMs'>;
}

const started = new Set<ReadingReplica>();
const ignoredCanary: CanaryListener = { seen: () => undefined };

export function createReadingReplica(server: RedisServer, replicaId: string, options: ReadingReplicaOptions = {}): ReadingReplica {
  const {
    fence = noFence,
    logger = silentLogger,
    canary = ignoredCanary,
    commandTimeoutMs = 300,
    redis = { url: server.url },
    ...sourceOptions
  } = options;
  const connections = new RedisConnections({ ...redis, commandTimeoutMs }, systemClock, logger);
  const handler = new RecordingHandler();
  const metrics = new Metrics();
  const source = new StreamSource(
    {
      connections,
      clock: systemClock,
      logger,
      handler,
      warmer: handler,
      fence,
      canary,
      metrics: new StreamMetrics(metrics),
    },
    {
      replicaId,
      stream,
      readBatchEntries: 16,
      readBlockMs: 100,
      backlogMaxAgeMs: 300_000,
      readyMaxLagMs: 5000,
      usesSharedGroup: false,
      ...sourceOptions,
    },
  );
  const kill = async (): Promise<void> => {
    started.delete(replica);
    connections.stop();
    handler.release();
    await source.stop();
  };
  const group = sourceOptions.usesSharedGroup === true ? keys.sharedGroup : keys.group(replicaId);
  const replica = { handler, source, connections, metrics, group, kill };
  started.add(replica);
  return replica;
}

/** Started, and caught up with what was there. */
export async function startReadingReplica(
  server: RedisServer,
  replicaId: string,
  options?: ReadingReplicaOptions,
): Promise<ReadingReplica> {
  const replica = createReadingReplica(server, replicaId, options);
  replica.connections.start();
  replica.source.start();
  await eventually(() => replica.source.unreadyReasons().length === 0, { what: 'ready' });
  return replica;
}

/** After each test: ends what is still running and says whether the source kept its contract with the handler. */
export async function endReadingReplicas(): Promise<void> {
  const replicas = [...started];
  await Promise.all(replicas.map((replica) => replica.kill()));
  expect(replicas.flatMap(({ handler }) => handler.violations)).toEqual([]);
}

const publishAll =
  "local ids = {} for i, name in ipairs(ARGV) do ids[i] = redis.call('XADD', KEYS[1], '*', 'envelope', name) end return ids";

/** Publishes entries that are told apart by name, all at the same moment; returns their ids. */
export async function publish(server: RedisServer, names: readonly string[]): Promise<StreamId[]> {
  return (await server.call('EVAL', publishAll, 1, stream, ...names)) as StreamId[];
}

export function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

export interface GroupRow {
  readonly pending: number;
  readonly lag: number | null;
  readonly lastDeliveredId: string;
  readonly entriesRead: number | null;
}

/** XINFO GROUPS of one group; undefined when it does not exist. */
export async function groupRow(server: RedisServer, group: string): Promise<GroupRow | undefined> {
  const rows = await server.call('XINFO', 'GROUPS', stream);
  for (const row of Array.isArray(rows) ? rows : []) {
    const fields = new Map<string, unknown>();
    for (let index = 0; index < row.length; index += 2) fields.set(String(row[index]), row[index + 1]);
    if (fields.get('name') !== group) continue;
    return {
      pending: Number(fields.get('pending')),
      lag: fields.get('lag') === null ? null : Number(fields.get('lag')),
      lastDeliveredId: String(fields.get('last-delivered-id')),
      entriesRead: fields.get('entries-read') === null ? null : Number(fields.get('entries-read')),
    };
  }
  return undefined;
}

/** Cuts a replica's reading connection, as an operator or a failover would. */
export async function killReader(server: RedisServer, replicaId: string): Promise<void> {
  const list = String(await server.call('CLIENT', 'LIST'));
  const id = new RegExp(`^id=(\\d+) .* name=gateway\\.reader:${replicaId} `, 'm').exec(list)?.[1];
  if (id !== undefined) await server.call('CLIENT', 'KILL', 'ID', id);
}

/** The value of a series on the metrics page; undefined when it is absent. */
export async function seriesOf(metrics: Metrics, series: string): Promise<number | undefined> {
  const line = (await metrics.text()).split('\n').find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
