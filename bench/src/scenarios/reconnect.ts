import { eventually, FakeOwners } from '@event-gateway/fleet';
import type { Bench } from '../bench.js';
import { monotonicUs } from '../host/monotonic-clock.js';
import { formatNumber } from '../report/format.js';
import { type GatewayTarget, metricsOf } from '../targets/gateway.js';
import { serverOf } from '../targets/target.js';
import { userId } from '../workload/user-id.js';
import type { Workload } from '../workload/workload.js';
import type { Scenario } from './scenario.js';

interface StormSample {
  readonly seconds: number;
  readonly refused: number;
  readonly resumed: number;
  readonly syncRequests: number;
  readonly loopLagP99Ms: number;
  readonly survivorCpuS: number;
  readonly missedFrames: number;
}

const requestOfSync = JSON.stringify({ type: 'sync', conversations: {} });

export const reconnect: Scenario = {
  name: 'reconnect',
  about:
    'Two replicas, one is killed with kill -9 and all of its clients come back to the other one, while events go on: with the cursor ' +
    'that every client holds, and as clients without one, which then ask the messenger for what they missed.',
  run: async (bench, recorder) => {
    const { clients, upgradesPerS } = bench.options.sizes.reconnect;
    recorder.note(`UPGRADES_PER_SECOND=${upgradesPerS}, RECONNECT_JITTER_MS=${bench.options.sizes.reconnect.jitterMs}.`);
    const rows = [];
    for (const how of ['with cursor', 'without cursor'] as const) {
      const sample = await storm(bench, how === 'with cursor');
      const id = `reconnect/${how}`;
      recorder.value(`${id}/seconds`, sample.seconds);
      recorder.value(`${id}/sync_requests`, sample.syncRequests);
      recorder.value(`${id}/loop_lag_p99_ms`, sample.loopLagP99Ms);
      recorder.value(`${id}/missed_frames`, sample.missedFrames);
      rows.push([how, ...Object.values(sample).map((value: number) => formatNumber(value))]);
    }
    recorder.table({
      title: `${formatNumber(clients)} clients lose their replica`,
      columns: [
        ...[
          'clients',
          'all back after s',
          'refused upgrades',
          'resumed',
          'sync requests',
          'survivor’s loop lag p99 ms',
          'survivor’s CPU s',
        ],
        'frames missed',
      ],
      rows,
    });
  },
};

async function storm(bench: Bench, sendsCursor: boolean): Promise<StormSample> {
  const { clients, bystanders, upgradesPerS, jitterMs } = bench.options.sizes.reconnect;
  const owners = await FakeOwners.start(bench.owners.issuer);
  for (let index = 0; index < clients; index += 2) owners.direct(`pair-${index}`, userId(index), userId(index + 1));
  const env = { UPGRADES_PER_SECOND: String(upgradesPerS), RECONNECT_JITTER_MS: String(jitterMs) };
  const target = await bench.startGateway({ replicas: 2, owners, env });
  await bench.connect(target, { count: clients, followsCursors: true });
  await bench.connect(target, { group: 'bystanders', from: clients, count: bystanders, server: 1 });
  await publishBefore(bench, target);
  try {
    return await loseReplica(bench, target, owners, sendsCursor);
  } finally {
    await bench.generator.close('bystanders');
    await bench.stopTargets([target]);
    await owners.stop();
  }
}

/** So that everybody's cursor has a past. */
async function publishBefore(bench: Bench, target: GatewayTarget): Promise<void> {
  const { clients, eventsPerS } = bench.options.sizes.reconnect;
  const workload: Workload = { seed: 3, name: 'storm', conversations: 200, membersEach: 2, firstUser: 0, users: clients };
  await bench.prepare(target, workload);
  const { events } = await bench.publisher.paced({ source: target.name, eventsPerS, durationMs: 1000, seed: 1 });
  await bench.generator.untilFrames(target.name, events * 2);
}

async function loseReplica(bench: Bench, target: GatewayTarget, owners: FakeOwners, sendsCursor: boolean): Promise<StormSample> {
  const { clients, eventsPerS, jitterMs } = bench.options.sizes.reconnect;
  const { generator, publisher } = bench;
  const survivor = serverOf(target, 1);
  const pace = { kind: 'client', jitterMs } as const;
  const policy = { ports: [survivor.port], pace, sendsCursor, ...(sendsCursor ? {} : { thenSends: requestOfSync }) };
  await generator.comeBack(target.name, policy);
  await generator.reset(target.name);
  await metricsOf(target, 1); // the lag that the page tells is that since it was last asked for
  const cpuUs = survivor.cpuUs();
  const publishing = publisher.paced({ source: target.name, eventsPerS, durationMs: 2 * jitterMs, seed: 2 });
  const startUs = monotonicUs();
  await serverOf(target, 0).kill();
  await eventually(async () => (await generator.reconnects(target.name)).back === clients, { timeoutMs: 120_000, intervalMs: 50 });
  const { lastBackUs, refused } = await generator.reconnects(target.name);
  if (!sendsCursor) await eventually(async () => (await othersOf(bench, target))['sync.complete'] === clients, { timeoutMs: 120_000 });
  const metrics = await metricsOf(target, 1);
  const survivorCpuS = (survivor.cpuUs() - cpuUs) / 1_000_000;
  const { events } = await publishing;
  const { frames } = sendsCursor ? await generator.untilFrames(target.name, events * 2) : await generator.counts(target.name);
  return {
    seconds: (lastBackUs - startUs) / 1_000_000,
    refused,
    resumed: (await othersOf(bench, target))['resumed'] ?? 0,
    syncRequests: owners.messenger.count('/internal/sync'),
    loopLagP99Ms: 1000 * (metrics.value('nodejs_eventloop_lag_p99_seconds') ?? Number.NaN),
    survivorCpuS,
    // Without a cursor what was missed comes from the messenger, whose frames are other ones.
    missedFrames: sendsCursor ? events * 2 - frames : Number.NaN,
  };
}

async function othersOf({ generator }: Bench, { name }: GatewayTarget): Promise<Readonly<Record<string, number>>> {
  return (await generator.counts(name)).others;
}
