import { FakeOwners } from '@event-gateway/fleet';
import type { Bench } from '../bench.js';
import { formatNumber } from '../report/format.js';
import { percentilePlot } from '../report/percentile-plot.js';
import { type GatewayTarget, metricsOf } from '../targets/gateway.js';
import { conversationsOf, type Workload } from '../workload/workload.js';
import type { Scenario } from './scenario.js';

type Mode = 'hot' | 'cold' | 'slow' | 'down';

const modes: Readonly<Record<Mode, string>> = {
  hot: 'every card is in the cache',
  cold: 'every event is the first of its conversation',
  slow: 'the same, and the owners take 300 ms, three times what a batch waits',
  down: 'the same, and the owners reset every connection',
};

export const enrichment: Scenario = {
  name: 'enrichment',
  about: 'What names and titles cost: cards that are cached, cards that must be fetched, owners that are slow or down.',
  run: async (bench, recorder) => {
    const owners = await FakeOwners.start(bench.owners.issuer);
    const target = await bench.startGateway({ owners });
    await bench.connect(target, { count: bench.options.sizes.enrichment.sockets });
    const measured = [];
    for (const mode of ['hot', 'cold', 'slow', 'down'] as const) measured.push({ mode, ...(await measure(bench, target, owners, mode)) });
    await bench.stopTargets([target]);
    await owners.stop();

    recorder.table({
      title: `${bench.options.sizes.enrichment.eventsPerS} events/s to ${bench.options.sizes.enrichment.k} sockets each, ms`,
      columns: ['cards', 'p50', 'p99', 'requests to owners', 'look-ups that failed'],
      rows: measured.map(({ mode, histogram, requests, faults }) => {
        const [p50, p99] = [50, 99].map((percentile) => histogram.getValueAtPercentile(percentile) / 1000);
        recorder.value(`enrichment/${mode}/p50_ms`, p50 ?? Number.NaN);
        recorder.value(`enrichment/${mode}/p99_ms`, p99 ?? Number.NaN);
        return [`${mode}: ${modes[mode]}`, ...[p50 ?? Number.NaN, p99 ?? Number.NaN, requests, faults].map(formatNumber)];
      }),
    });
    recorder.plot(
      percentilePlot('enrichment', 'Latency by what happens to cards', new Map(measured.map(({ mode, histogram }) => [mode, histogram]))),
    );
  },
};

async function measure(bench: Bench, target: GatewayTarget, owners: FakeOwners, mode: Mode) {
  const { sockets, conversations, k, eventsPerS, durationMs } = bench.options.sizes.enrichment;
  const events = Math.ceil((eventsPerS * durationMs) / 1000);
  const isHot = mode === 'hot';
  const workload: Workload = {
    ...{ seed: k, name: `cards-${mode}`, membersEach: k, firstUser: 0, users: sockets },
    ...(isHot ? { conversations } : { conversations: 2 * events, visitsEachOnce: true }),
  };
  for (const { id, members } of conversationsOf(workload)) owners.group(id, members);
  await bench.prepare(target, workload, { poolEvents: isHot ? 4096 : 2 * events });
  if (isHot) await publish(bench, target, { durationMs: durationMs / 2, seed: 1 });
  setFault(owners, mode);
  const before = { requests: requestsOf(owners), faults: await faultsOf(target) };
  await publish(bench, target, { durationMs, seed: 2 });
  setFault(owners, 'hot');
  return {
    histogram: await bench.generator.latencies(target.name),
    requests: requestsOf(owners) - before.requests,
    faults: (await faultsOf(target)) - before.faults,
  };
}

async function publish(
  { generator, publisher, options }: Bench,
  { name }: GatewayTarget,
  { durationMs, seed }: { readonly durationMs: number; readonly seed: number },
): Promise<void> {
  const { k, eventsPerS } = options.sizes.enrichment;
  await generator.reset(name, { measuresLatency: true });
  const { events } = await publisher.paced({ source: name, eventsPerS, durationMs, seed });
  await generator.untilFrames(name, events * k);
}

function setFault({ userService, messenger }: FakeOwners, mode: Mode): void {
  const fault = { hot: undefined, cold: undefined, slow: { delayMs: 300 }, down: { resets: true } }[mode];
  userService.fault = fault;
  messenger.fault = fault;
}

function requestsOf({ userService, messenger }: FakeOwners): number {
  return userService.requests.length + messenger.requests.length;
}

async function faultsOf(target: GatewayTarget): Promise<number> {
  return (await metricsOf(target)).value('gateway_card_lookups_total', { result: 'fault' }) ?? 0;
}
