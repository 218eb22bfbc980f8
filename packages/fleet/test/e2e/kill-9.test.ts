import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../src/index.js';
import { Crowd, forgetful } from './crowd.js';

const busyCount = 900;
const idleCount = 100;
const clientCount = busyCount + idleCount;

let crowd: Crowd;

beforeAll(async () => {
  crowd = await Crowd.gather({
    replicas: 2,
    busy: busyCount,
    idle: idleCount,
    // A replica's death brings everybody to the other one at once, and a test on a busy machine must not be refused for either.
    env: { UPGRADES_PER_SECOND: '2000', UPGRADES_BURST: '2000', MAX_LOOP_LAG_MS: '5000', ...forgetful },
  });
}, 120_000);

afterAll(async () => crowd.disperse());

test('a replica is killed while events flow: its clients resume on the other one, the messenger is not asked, nothing is lost or doubled', async () => {
  const [killed, survivor] = [crowd.fleet.replica(0), crowd.fleet.replica(1)];
  const [itsClients, others] = [crowd.on(killed), crowd.on(survivor)];
  const past = await crowd.forgetThePast();
  const before = { syncRequests: crowd.messenger.syncRequests, syncs: crowd.syncs };

  await killed.kill();
  const areBack = (): boolean => itsClients.every(({ audit }) => audit.counts.hellos > 1);
  await eventually(areBack, { timeoutMs: 30_000, what: 'the return of every client' });
  await crowd.untilWritten(50);
  await crowd.untilWhole(60_000);

  expect([...crowd.complaints]).toEqual([]);
  expect({ online: crowd.published('online'), offline: crowd.published('offline') }).toEqual({ online: clientCount, offline: 0 });
  expect({ syncRequests: crowd.messenger.syncRequests, syncs: crowd.syncs, told: crowd.told }).toEqual({ ...before, told: {} });
  expect(itsClients.every(({ audit }) => audit.counts.resumed === audit.counts.hellos - 1)).toBe(true);
  expect(others.every(({ audit }) => audit.counts.hellos === 1)).toBe(true);
  const metrics = await survivor.metrics();
  expect(metrics.value('gateway_connections')).toBe(clientCount);
  expect([metrics.value('gateway_resumes_total'), metrics.value('gateway_resumes_total', { outcome: 'unknown' })]).toEqual([
    itsClients.length,
    0,
  ]);
  expect(metrics.value('nodejs_eventloop_lag_p99_seconds')).toBeLessThan(1);
  // Those to whom nobody had written came back with what their pongs had told them; with the cursor of their hello they could not have.
  const sleeper = await crowd.fleet.connect('sleeper', { replica: survivor, cursor: past });
  expect(await sleeper.waitFor('sync.required')).toMatchObject({ reason: 'cursor_unknown' });
  expect(crowd.idle.every(({ audit }) => audit.counts.durable === 0)).toBe(true);
}, 120_000);
