import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RecordingClient, type Replica, UpgradeRefusedError } from '../../src/index.js';
import { type Closed, Crowd, forgetful } from './crowd.js';

const busyCount = 240;
const idleCount = 60;
const drainWindowMs = 2000;
const drainDeadlineMs = 15_000;

let crowd: Crowd;

beforeAll(async () => {
  crowd = await Crowd.gather({
    replicas: 3,
    busy: busyCount,
    idle: idleCount,
    env: {
      DRAIN_WINDOW_MS: String(drainWindowMs),
      DRAIN_DEADLINE_MS: String(drainDeadlineMs),
      RECONNECT_JITTER_MS: '1000',
      ...forgetful,
      // Under which a starved machine refuses everybody.
      MAX_LOOP_LAG_MS: '5000',
    },
  });
}, 120_000);

afterAll(async () => crowd.disperse());

interface Restarted {
  readonly connections: number;
  readonly exit: unknown;
  readonly tookMs: number;
  /** What the replica answered when its first connection had just been closed. */
  readonly ready: { readonly status: number; readonly text: string };
  readonly refusal: unknown;
  readonly closes: readonly Closed[];
}

/** As a deploy does: SIGTERM, and the next process under the same name. */
async function restart(replica: Replica): Promise<Restarted> {
  const connections = (await replica.metrics()).value('gateway_connections') ?? 0;
  const from = crowd.closed.length;
  const firstClose = new Promise<void>((resolve) => {
    crowd.onClosed = ({ url }) => {
      if (url === replica.wsUrl) resolve();
    };
  });
  const startedAtMs = performance.now();
  const ended = replica.drain();
  await firstClose;
  const token = crowd.fleet.owners.issuer.token('late');
  const [ready, refusal] = await Promise.all([
    replica.get('/readyz'),
    RecordingClient.open({ url: replica.wsUrl, token }).catch((error: unknown) => error),
  ]);
  const exit = await ended;
  const tookMs = performance.now() - startedAtMs;
  const closes = crowd.closed.slice(from).filter(({ url }) => url === replica.wsUrl);
  await replica.start();
  return { connections, exit, tookMs, ready, refusal, closes };
}

/** How many there were in each tenth of the time from the first to the last. */
function histogram(closes: readonly Closed[]): number[] {
  const times = closes.map(({ atMs }) => atMs);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const tenths = Array.from({ length: 10 }, () => 0);
  for (const atMs of times) {
    const tenth = Math.min(9, Math.floor(((atMs - first) / (last - first)) * 10));
    tenths[tenth] = (tenths[tenth] ?? 0) + 1;
  }
  return tenths;
}

describe('three replicas are restarted one after the other while people write', () => {
  const restarts: Restarted[] = [];
  let before: { syncRequests: number; syncs: number };
  let oldCursor: string;

  beforeAll(async () => {
    oldCursor = await crowd.forgetThePast();
    before = { syncRequests: crowd.messenger.syncRequests, syncs: crowd.syncs };
    for (const replica of crowd.fleet.replicas) {
      restarts.push(await restart(replica));
      await crowd.untilWritten(20);
    }
    await crowd.untilWhole(60_000);
  }, 120_000);

  test('everybody has everything once, in order', () => {
    expect([...crowd.complaints]).toEqual([]);
    expect(crowd.messenger.messageCount).toBeGreaterThan(100);
  });

  test('nobody was shown offline', () => {
    expect({ online: crowd.published('online'), offline: crowd.published('offline') }).toEqual({
      online: busyCount + idleCount,
      offline: 0,
    });
  });

  test('nobody had to sync, those to whom nobody had written for long included', async () => {
    expect({ syncRequests: crowd.messenger.syncRequests, syncs: crowd.syncs, told: crowd.told }).toEqual({ ...before, told: {} });
    for (const { audit } of crowd.idle) {
      expect(audit.counts.durable).toBe(0);
      expect(audit.counts.resumed).toBe(audit.counts.hellos - 1);
      expect(audit.counts.resumed).toBeGreaterThan(0);
    }
    // With the cursor of their hello they would have had to.
    const sleeper = await crowd.fleet.connect('sleeper', { replica: crowd.fleet.replica(0), cursor: oldCursor });
    expect(await sleeper.waitFor('sync.required')).toMatchObject({ reason: 'cursor_unknown' });
  });

  test('each replica closed its connections with 1012, spread over the window', () => {
    for (const { connections, closes } of restarts) {
      expect(connections).toBeGreaterThan(50);
      expect([...new Set(closes.map(({ code }) => code))]).toEqual([1012]);
      expect(closes.length).toBeGreaterThan(connections / 2); // the SDK leaves by itself when it is told to come back
      const times = closes.map(({ atMs }) => atMs);
      expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(drainWindowMs / 2);
      // Evenly it would be a tenth.
      expect(Math.max(...histogram(closes))).toBeLessThan(connections / 2);
    }
  });

  test('each was not ready any more and took no new sockets when it closed the first', () => {
    for (const { ready, refusal } of restarts) {
      expect([ready.status, JSON.parse(ready.text)]).toEqual([503, { ready: false, reasons: expect.arrayContaining(['draining']) }]);
      expect(refusal).toBeInstanceOf(UpgradeRefusedError);
      expect(refusal).toMatchObject({ status: 503, code: 'draining', headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) } });
    }
  });

  test('each ended by itself with 0, inside its deadline', () => {
    for (const { exit, tookMs } of restarts) {
      expect(exit).toEqual({ code: 0, signal: null });
      expect(tookMs).toBeLessThan(drainDeadlineMs);
    }
  });
});
