import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, freePort, Nginx } from '@event-gateway/fleet';
import type { Histogram } from 'hdr-histogram-js';
import type { Bench } from '../bench.js';
import { busyShare, coreTimes } from '../host/busy-cores.js';
import { monotonicUs } from '../host/monotonic-clock.js';
import { LoadGenerator } from '../load/load-generator.js';
import type { ReconnectCounts, RetryPace } from '../load/reconnecting.js';
import { mostOverBucket, type OpenedCount } from '../measure/accept-rate.js';
import { formatNumber } from '../report/format.js';
import type { Recorder } from '../report/recorder.js';
import { type GatewayTarget, metricsOf } from '../targets/gateway.js';
import { hasNginx } from '../targets/nginx.js';
import { serverOf } from '../targets/target.js';
import { conversationsOf, type Workload } from '../workload/workload.js';
import type { Scenario } from './scenario.js';

interface Cell {
  readonly way: 'plain' | 'nginx';
  readonly pace: RetryPace['kind'];
}

const cells: readonly Cell[] = [
  { way: 'plain', pace: 'client' },
  { way: 'plain', pace: 'hasty' },
  { way: 'nginx', pace: 'client' },
  { way: 'nginx', pace: 'hasty' },
];

/** Two replicas, the first of which will die; the crowd that it holds; and those whom the second one goes on serving. */
interface Stage {
  readonly bench: Bench;
  readonly cell: Cell;
  readonly target: GatewayTarget;
  readonly crowd: LoadGenerator;
  readonly observers: LoadGenerator;
  /** Where everybody connects; undefined: to the replicas' own ports. */
  readonly door: number | undefined;
}

interface StormSample {
  /** Of the observers, in microseconds: before the storm, and until most of the crowd was back. */
  readonly quiet: Histogram;
  readonly storm: Histogram;
  readonly seconds: { readonly most: number; readonly all: number };
  readonly crowd: ReconnectCounts;
  readonly pages: readonly SurvivorPage[];
  readonly refusedByReplica: number;
  /** Cores, until most of the crowd was back. */
  readonly survivorCores: number;
  readonly crowdCores: number;
  readonly busyShare: number;
}

/** What the survivor says of itself. */
interface SurvivorPage extends OpenedCount {
  /** The longest since the page before. */
  readonly loopLagMs: number;
}

const crowdGroup = 'crowd';
const observerGroup = 'observers';
/** The storm is measured until this much of the crowd is back: the calm that the last ones' long back-offs leave would only flatter it. */
const mostOfCrowd = 0.95;
const membersEach = 2;
/** One address has a few of them, as an office or a carrier's NAT has: nginx limits each address. */
const usersPerAddress = 25;
/** From here on the storm is as strong as the machine lets it be, and no stronger. */
const fullShare = 0.95;
/** The page costs a replica some milliseconds: more often, and that would be a part of the p99 that is measured. */
const lookEveryMs = 5000;
const longestStormMs = 180_000;

export const storm: Scenario = {
  name: 'storm',
  about:
    'A replica is killed with kill -9 and all of its clients come to the other one, at that one’s accept rate, while it goes on serving ' +
    'those whom it already had: as the project’s client does, and as clients that ignore every hint; on the replicas’ own ports, and ' +
    'through nginx with TLS.',
  run: async (bench, recorder) => {
    const { observers, upgradesPerS, burst, jitterMs, hastyMs, eventsPerS } = bench.options.sizes.storm;
    recorder.note(
      `UPGRADES_PER_SECOND=${upgradesPerS}, UPGRADES_BURST=${burst}. Clients retry within ${jitterMs} ms and then with full jitter; hasty ` +
        `ones at once and every ${hastyMs} ms. ${observers} observers get ${eventsPerS} events/s, ${membersEach} of them each.`,
    );
    const measured = [];
    for (const cell of cells) {
      if (cell.way === 'nginx' && !hasNginx()) recorder.note(`${nameOf(cell)}: not measured, there is no nginx here.`);
      else {
        recorder.progress(nameOf(cell));
        measured.push({ cell, sample: await onStage(bench, cell, measure) });
      }
    }
    report(bench, recorder, measured);
  },
};

async function onStage<T>(bench: Bench, cell: Cell, run: (stage: Stage) => Promise<T>): Promise<T> {
  const crowd = new LoadGenerator(bench.options.loadProcesses, { yieldsCores: true, usersPerAddress });
  const observers = new LoadGenerator(1, { usersPerAddress });
  let nginx: Nginx | undefined;
  try {
    const doomed = await bench.startGateway();
    const survivorPort = await freePort();
    if (cell.way === 'nginx') nginx = await startNginx(bench, [serverOf(doomed).port, survivorPort]);
    const door = nginx?.port;
    await connectCrowd(bench, doomed, crowd, door);
    // Only now, and so everybody of the crowd is on the other one, behind nginx as well.
    const target = await addSurvivor(bench, doomed, survivorPort);
    const stage = { bench, cell, target, crowd, observers, door };
    await connectObservers(stage);
    return await run(stage);
  } finally {
    await Promise.all([crowd.stop(), observers.stop()]);
    await nginx?.stop();
    await bench.clear();
  }
}

async function startNginx(bench: Bench, gatewayPorts: readonly number[]): Promise<Nginx> {
  return Nginx.start({ home: bench.home, gatewayPorts, values: { WORKER_CONNECTIONS: '19000' } });
}

async function connectCrowd(
  bench: Bench,
  { protocol, servers: [doomed] }: GatewayTarget,
  crowd: LoadGenerator,
  door?: number,
): Promise<void> {
  const users = bench.tokens.users(bench.options.sizes.storm.observers, bench.options.sizes.storm.clients);
  const port = door ?? doomed?.port ?? 0;
  await crowd.connect({ group: crowdGroup, protocol, port, users, isTls: door !== undefined, followsCursors: true });
}

async function addSurvivor(bench: Bench, doomed: GatewayTarget, port: number): Promise<GatewayTarget> {
  const { upgradesPerS, burst, jitterMs } = bench.options.sizes.storm;
  const env = { UPGRADES_PER_SECOND: String(upgradesPerS), UPGRADES_BURST: String(burst), RECONNECT_JITTER_MS: String(jitterMs) };
  return bench.addReplica(doomed, port, { env });
}

/** And events for them, with whatever cards these need. */
async function connectObservers(stage: Stage): Promise<void> {
  const { bench, target, observers, door } = stage;
  const { observers: count, eventsPerS, conversations } = bench.options.sizes.storm;
  const users = bench.tokens.users(0, count);
  const { protocol } = target;
  const port = door ?? serverOf(target, 1).port;
  await observers.connect({ group: observerGroup, protocol, port, users, isTls: door !== undefined });
  const workload: Workload = { seed: 5, name: 'observed', conversations, membersEach, firstUser: 0, users: count };
  for (const { id, members } of conversationsOf(workload)) bench.owners.group(id, members);
  await bench.prepare(target, workload);
  await observers.reset(observerGroup);
  const { events } = await bench.publisher.paced({ source: target.name, eventsPerS, durationMs: 1000, seed: 0 });
  await observers.untilFrames(observerGroup, events * membersEach);
}

async function measure(stage: Stage): Promise<StormSample> {
  const quiet = await measureQuiet(stage);
  return { quiet, ...(await measureStorm(stage)) };
}

async function measureQuiet({ bench, target, observers }: Stage): Promise<Histogram> {
  const { eventsPerS, quietMs } = bench.options.sizes.storm;
  await observers.reset(observerGroup, { measuresLatency: true });
  const { events } = await bench.publisher.paced({ source: target.name, eventsPerS, durationMs: quietMs, seed: 1 });
  await observers.untilFrames(observerGroup, events * membersEach);
  return observers.latencies(observerGroup);
}

async function measureStorm(stage: Stage): Promise<Omit<StormSample, 'quiet'>> {
  const { bench, target, crowd, observers } = stage;
  const { eventsPerS } = bench.options.sizes.storm;
  const survivor = serverOf(target, 1);
  await crowd.comeBack(crowdGroup, {
    ports: [stage.door ?? survivor.port],
    isTls: stage.door !== undefined,
    pace: paceOf(stage),
    sendsCursor: true,
  });
  await observers.reset(observerGroup, { measuresLatency: true });
  await metricsOf(target, 1); // the lag that the page tells is that since it was last asked for
  const watch = watchSurvivor(target);
  const publishing = bench.publisher.paced({ source: target.name, eventsPerS, durationMs: longestStormMs, seed: 2 });
  try {
    const began = await lookAt(stage);
    await serverOf(target, 0).kill();
    await untilBack(stage, mostOfCrowd);
    const [latencies, ended] = [await observers.latencies(observerGroup), await lookAt(stage)];
    await untilBack(stage, 1);
    const [pages, page] = [await watch.stop(), await metricsOf(target, 1)];
    await bench.publisher.halt(target.name);
    const { events } = await publishing;
    await observers.untilFrames(observerGroup, events * membersEach);
    const counts = await crowd.reconnects(crowdGroup);
    const seconds = (ended.us - began.us) / 1_000_000;
    return {
      ...{ storm: latencies, crowd: counts, pages },
      seconds: { most: seconds, all: (counts.lastBackUs - began.us) / 1_000_000 },
      refusedByReplica: page.value('gateway_upgrades_refused_total', { reason: 'rate_limited' }) ?? 0,
      survivorCores: (ended.survivorUs - began.survivorUs) / 1_000_000 / seconds,
      crowdCores: (ended.crowdUs - began.crowdUs) / 1_000_000 / seconds,
      busyShare: busyShare(began.cores, ended.cores),
    };
  } finally {
    await watch.stop();
    await bench.publisher.halt(target.name);
  }
}

function paceOf({ bench, cell }: Stage): RetryPace {
  const { jitterMs, hastyMs } = bench.options.sizes.storm;
  return cell.pace === 'client' ? { kind: 'client', jitterMs } : { kind: 'hasty', everyMs: hastyMs };
}

interface Look {
  readonly us: number;
  readonly survivorUs: number;
  readonly crowdUs: number;
  readonly cores: ReturnType<typeof coreTimes>;
}

async function lookAt({ target, crowd }: Stage): Promise<Look> {
  return { us: monotonicUs(), survivorUs: serverOf(target, 1).cpuUs(), crowdUs: crowd.cpuUs(), cores: coreTimes() };
}

async function untilBack({ bench, crowd }: Stage, share: number): Promise<void> {
  const wanted = share * bench.options.sizes.storm.clients;
  await eventually(
    async () => {
      const { back, refused, failed } = await crowd.reconnects(crowdGroup);
      if (back < wanted) throw new Error(`${back} of ${wanted} are back; ${refused} refused, ${failed} failed attempts`);
    },
    { timeoutMs: longestStormMs, intervalMs: 100 },
  );
}

/** Asks the survivor how many connections it has opened, once in a while. */
function watchSurvivor(target: GatewayTarget): { stop(): Promise<readonly SurvivorPage[]> } {
  const pages: SurvivorPage[] = [];
  const end = new AbortController();
  const look = async (): Promise<void> => {
    const askedUs = monotonicUs();
    const page = await metricsOf(target, 1);
    const opened = page.value('gateway_connections_opened_total') ?? 0;
    const loopLagMs = 1000 * (page.value('nodejs_eventloop_lag_max_seconds') ?? Number.NaN);
    pages.push({ askedUs, answeredUs: monotonicUs(), opened, loopLagMs });
  };
  const watching = (async () => {
    while (!end.signal.aborted) {
      await look();
      await sleep(lookEveryMs, undefined, { signal: end.signal }).catch(() => undefined);
    }
    await look();
  })();
  return {
    stop: async () => {
      end.abort();
      await watching;
      return pages;
    },
  };
}

const nameOf = ({ way, pace }: Cell): string =>
  `${way === 'plain' ? 'replicas’ ports' : 'nginx, TLS'}, ${pace === 'client' ? 'as the client' : 'hasty'}`;

function report(bench: Bench, recorder: Recorder, measured: readonly { readonly cell: Cell; readonly sample: StormSample }[]): void {
  const { clients, upgradesPerS, burst } = bench.options.sizes.storm;
  recorder.table({
    title: `What those who stayed have of a storm of ${formatNumber(clients)}: delivery in ms`,
    columns: ['storm', 'quiet p50', 'p99', 'storm p50', 'p99', 'p99.9', 'p99, storm : quiet', 'longest loop lag', 'survivor’s cores'],
    rows: measured.map(({ cell, sample: { quiet, storm: stormy, pages, survivorCores } }) => {
      const ms = (histogram: Histogram, percentile: number): number => histogram.getValueAtPercentile(percentile) / 1000;
      const ratio = ms(stormy, 99) / ms(quiet, 99);
      recorder.value(`storm/${cell.way}/${cell.pace}/p99_ratio`, ratio);
      const figures = [
        ms(quiet, 50),
        ms(quiet, 99),
        ms(stormy, 50),
        ms(stormy, 99),
        ms(stormy, 99.9),
        ratio,
        Math.max(...pages.map(({ loopLagMs }) => loopLagMs)),
        survivorCores,
      ];
      return [nameOf(cell), ...figures.map(formatNumber)];
    }),
  });
  recorder.table({
    title:
      `How the crowd comes back. Below 0: in no span of time were more accepted than ${burst} and ${upgradesPerS} a second; the ` +
      'number is what was left',
    columns: ['storm', '95 % after s', 'all after s', 'attempts/s', 'refused by the replica', 'failed', 'accepted over the limit'],
    rows: measured.map(({ cell, sample: { seconds, crowd, refusedByReplica, pages } }) => {
      const attemptsPerS = (crowd.back + crowd.refused + crowd.failed) / seconds.all;
      const over = mostOverBucket(pages, { perSecond: upgradesPerS, burst });
      recorder.value(`storm/${cell.way}/${cell.pace}/over_bucket`, Math.max(0, over));
      recorder.value(`storm/${cell.way}/${cell.pace}/away`, clients - crowd.back);
      return [nameOf(cell), ...[seconds.most, seconds.all, attemptsPerS, refusedByReplica, crowd.failed, over].map(formatNumber)];
    }),
  });
  for (const { cell, sample } of measured) noteBottleneck(recorder, cell, sample);
}

function noteBottleneck(recorder: Recorder, cell: Cell, { busyShare: share, crowdCores }: StormSample): void {
  const how = `the crowd took ${formatNumber(crowdCores)} cores, and all cores were ${formatNumber(100 * share)} % busy`;
  const isFull = share >= fullShare;
  recorder.note(
    isFull
      ? `${nameOf(cell)}: the load generator is the bottleneck of this storm: ${how}.`
      : `${nameOf(cell)}: the load generator is not the bottleneck: ${how}.`,
  );
}
