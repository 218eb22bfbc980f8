import { afterEach, expect, test } from 'vitest';
import { eventually, type Fleet, type RecordingClient, startFleet } from '../../src/index.js';

let fleet: Fleet;
afterEach(async () => fleet.stop());

const healthyUsers = Array.from({ length: 100 }, (_, n) => `healthy-${n}`);
const rounds = 40;

/** One message to all of these; resolves when everybody who reads has it, with how long that took. */
async function deliver(readers: readonly RecordingClient[], recipients: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  const id = await fleet.publish({ type: 'note', recipients, payload: {} });
  await eventually(() => readers.every((client) => client.frames.at(-1)?.['cursor'] === id), { intervalMs: 1 });
  return performance.now() - startedMs;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

test('one client of many never reads: it is closed as a slow consumer, the others miss nothing and wait for nothing', async () => {
  fleet = await startFleet({ replicas: 1, nginx: false, env: { OUTBOX_STUCK_MS: '1500', OUTBOX_MAX_BYTES: '262144' } });
  const [replica] = fleet.replicas;
  if (replica === undefined) throw new Error('no replica');
  const healthy = await Promise.all(healthyUsers.map((user) => fleet.connect(user, { replica })));
  const sick = await fleet.connect('sick', { replica });
  const everybody = [...healthyUsers, 'sick'];

  const before: number[] = [];
  for (let round = 0; round < rounds; round++) before.push(await deliver(healthy, everybody));
  sick.pauseReading();
  // More than the kernels on both ends take, and what the gateway queues.
  const text = 'x'.repeat(524_288);
  const fill = (): Promise<string> => fleet.publish({ type: 'flood', recipients: ['sick'], payload: { text } });
  const closedAsSlow = async (): Promise<number | undefined> =>
    (await replica.metrics()).value('gateway_connections_closed_total', { reason: 'slow_consumer' });
  const meanwhile: number[] = [];
  while ((await closedAsSlow()) !== 1) {
    if (meanwhile.length < rounds) await fill();
    meanwhile.push(await deliver(healthy, everybody));
  }
  expect(meanwhile.length).toBeGreaterThan(rounds);
  // A flood of half a megabyte each is read, parsed and copied as well; what would be seen is a wait for the one who does not read.
  expect(median(meanwhile)).toBeLessThan(median(before) + 50);
  for (const client of healthy) {
    expect(client.ofType('note')).toHaveLength(rounds + meanwhile.length);
    expect(client.ofType('sync.required')).toEqual([]);
    expect(client.isOpen).toBe(true);
  }
  sick.resumeReading();
  expect(await sick.closed).toMatchObject({ code: 4508 });
  expect((await replica.metrics()).value('gateway_connections')).toBe(healthyUsers.length);
}, 90_000);
