import { eventually, type RedisServer, SeededRandom, startRedisServer } from '@event-gateway/fleet';
import type { ConversationId } from '@event-gateway/protocol';
import { systemClock } from '@event-gateway/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Claim, ModelFleet, ModelUser, type Place } from './test/model-fleet.js';
import { user } from './test/test-hub.js';
import { TransitionLog } from './test/transition-log.js';

const times = { leaseTtlMs: 3000, renewMs: 300, graceMs: 1000, sweepMs: 100, audience: 'direct', commandTimeoutMs: 500 } as const;
const pongMs = 100;
const userCount = 30;
const roundsPerSeed = 7;
/** Nothing here takes this long unless it never comes. */
const patience = { timeoutMs: 20_000, intervalMs: 10 };

let server: RedisServer;
let log: TransitionLog;
let fleet: ModelFleet;
let users: ModelUser[];

beforeEach(async () => {
  server = await startRedisServer({ persistence: 'aof' });
  log = await new TransitionLog(server.url).start();
  fleet = new ModelFleet(times, pongMs);
  await fleet.start(server.port);
  users = Array.from({ length: userCount }, (_, i) => new ModelUser(user(`u${i}`)));
});
afterEach(async () => {
  await fleet.stop();
  log.stop();
  await server.stop();
});

async function redisMs(): Promise<number> {
  const [seconds, micros] = (await log.call('TIME')) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

/** Everything that was published before this call is in the log after it; also when the log itself is just coming back. */
async function catchUp(): Promise<void> {
  const marker = `marker${Math.random()}`;
  await eventually(async () => {
    await log.call('PUBLISH', 'gateway.presence', JSON.stringify({ user_id: marker, status: 'online', at_ms: 1 }));
    return log.of(marker).length > 0;
  }, patience);
}

async function leaseEnd(model: ModelUser, holder: string): Promise<number | undefined> {
  const score = await log.call('ZSCORE', `presence:${model.id}`, holder);
  return score === null ? undefined : Number(score);
}

async function connect(model: ModelUser, place: Place): Promise<void> {
  const endsMs = model.endsMs;
  const wasOnline = model.isOnline;
  const holder = place.replica.holder;
  const { leaseTtlMs, graceMs } = times;
  const before = await leaseEnd(model, holder);
  let claim = model.claims.find((known) => known.holder === holder);
  if (claim === undefined) model.claims.push((claim = { place, holder, connections: [], endsMs: undefined }));
  const isFirst = claim.connections.length === 0;
  claim.connections.push(place.replica.connect(model.id));
  claim.endsMs = undefined;
  if (!isFirst) return;
  // Longer than any grace: the lease of this connection is written.
  const sinceMs = await redisMs();
  await eventually(async () => ((await leaseEnd(model, holder)) ?? 0) > Math.max(before ?? 0, sinceMs + leaseTtlMs - graceMs), patience);
  const writtenMs = await redisMs();
  await catchUp();
  const published = log.of(model.id);
  if (!wasOnline) {
    model.expected.push('online');
  } else if (endsMs !== undefined && writtenMs >= endsMs && published.length > model.expected.length) {
    // He came back about when his last lease ended: either is right, but only as a whole.
    model.expected.push('offline', 'online');
  }
  expect(published, `${model.id} after a connect`).toEqual(model.expected);
}

async function disconnect(model: ModelUser, claim: Claim): Promise<void> {
  const connection = claim.connections.pop();
  if (connection === undefined) return;
  const closedMs = await redisMs();
  claim.place.replica.hub.close(connection);
  if (claim.connections.length > 0) return;
  let endsMs: number | undefined;
  // A lease that is alive ends a second later than that, at least.
  await eventually(async () => {
    endsMs = await leaseEnd(model, claim.holder);
    return endsMs === undefined ? (await redisMs()) < closedMs + times.graceMs + 1500 : endsMs <= closedMs + times.graceMs + 1000;
  }, patience);
  claim.endsMs = endsMs ?? closedMs + times.graceMs;
  expect(claim.endsMs, `${model.id}: the grace counts from the close`).toBeGreaterThanOrEqual(closedMs + times.graceMs - 5);
}

/** A page that is reloaded: closed and open again before, while or after the close is written. Nobody hears of it. */
async function reload(model: ModelUser, claim: Claim, pauseMs: number): Promise<void> {
  const connection = claim.connections.pop();
  if (connection === undefined) return;
  claim.place.replica.hub.close(connection);
  await systemClock.sleep(pauseMs);
  const sinceMs = await redisMs();
  claim.connections.push(claim.place.replica.connect(model.id));
  await eventually(async () => ((await leaseEnd(model, claim.holder)) ?? 0) >= sinceMs + times.leaseTtlMs, patience);
  await catchUp();
  expect(log.of(model.id), `${model.id} after a reload`).toEqual(model.expected);
}

/** Nobody keeps him alive: offline must come, once, and not before his last lease is over. */
async function awaitOffline(model: ModelUser): Promise<void> {
  const endsMs = model.endsMs;
  if (endsMs === undefined || !model.isOnline) return;
  model.expected.push('offline');
  await eventually(() => expect(log.of(model.id)).toEqual(model.expected), patience);
  const last = log.messages.findLast(({ userId }) => userId === model.id);
  expect(last?.atMs, `${model.id} is not offline before his last lease ends`).toBeGreaterThanOrEqual(endsMs);
  model.claims = [];
}

async function step(model: ModelUser, random: SeededRandom): Promise<void> {
  const dice = random.next();
  const live = model.claims.filter(({ connections }) => connections.length > 0);
  const open = live.reduce((sum, { connections }) => sum + connections.length, 0);
  if (open === 0 && dice < 0.25) await awaitOffline(model);
  else if (open === 0 || (open < 3 && dice < 0.45)) await connect(model, random.pick(fleet.places));
  else if (dice < 0.7) await disconnect(model, random.pick(live));
  else if (dice < 0.9) await reload(model, random.pick(live), random.integer(0, 8));
  else await systemClock.sleep(random.integer(10, times.graceMs));
  if (random.next() < 0.5) await systemClock.sleep(random.integer(0, times.graceMs / 2));
}

/** The process is gone, and what its users had there runs out as it was last written. */
async function kill(place: Place): Promise<void> {
  const { holder } = place.replica;
  place.replica.kill();
  const killedMs = await redisMs();
  for (const model of users) {
    for (const claim of model.claims.filter((candidate) => candidate.holder === holder)) {
      claim.connections.length = 0;
      claim.endsMs = (await leaseEnd(model, holder)) ?? claim.endsMs ?? 0;
      expect(claim.endsMs, `${model.id}: no lease outlives its last sign of life`).toBeLessThanOrEqual(killedMs + times.leaseTtlMs + 50);
    }
  }
  await fleet.replace(place);
}

/** A replica loses Redis for longer than a lease: others say offline of those whom it alone holds, and it takes them up again. */
async function partition(place: Place): Promise<void> {
  const { holder } = place.replica;
  const heldHere = users.filter(({ claims }) => claims.some((claim) => claim.holder === holder && claim.connections.length > 0));
  const onlyHere = heldHere.filter(({ claims }) => !claims.some((claim) => claim.holder !== holder && claim.connections.length > 0));
  place.proxy.freeze();
  for (const model of onlyHere) {
    model.expected.push('offline');
    await eventually(() => expect(log.of(model.id)).toEqual(model.expected), patience);
    model.expected.push('online');
  }
  place.proxy.thaw();
  for (const model of onlyHere) await eventually(() => expect(log.of(model.id)).toEqual(model.expected), patience);
  // Everybody's lease is written again before anything else is done to him.
  const sinceMs = await redisMs();
  for (const model of heldHere)
    await eventually(async () => ((await leaseEnd(model, holder)) ?? 0) >= sinceMs + times.leaseTtlMs, patience);
}

async function standStill(ms: number): Promise<void> {
  server.pause();
  await systemClock.sleep(ms);
  server.resume();
  await settleLive();
}

/** Redis is killed and comes back with its data; the fleet finds it again after the log does, or the log would miss what follows. */
async function restartRedis(): Promise<void> {
  for (const { proxy } of fleet.places) {
    proxy.refuse();
    proxy.cut();
  }
  await catchUp();
  await server.restart({ keepData: true });
  await catchUp();
  for (const { proxy } of fleet.places) proxy.accept();
  await settleLive();
}

/** Every live lease is written again, so that what follows is about what follows. */
async function settleLive(): Promise<void> {
  const sinceMs = await eventually(redisMs, patience);
  for (const model of users) {
    for (const { holder, connections } of model.claims) {
      if (connections.length === 0) continue;
      await eventually(async () => ((await leaseEnd(model, holder)) ?? 0) >= sinceMs + times.leaseTtlMs, patience);
    }
  }
}

async function disturb(random: SeededRandom): Promise<string> {
  const place = random.pick(fleet.places);
  const kinds: Record<string, () => Promise<void>> = {
    kill: () => kill(place),
    partition: () => partition(place),
    'short pause': () => standStill(random.integer(100, 400)),
    'long pause': () => standStill(times.leaseTtlMs + random.integer(0, 500)),
    restart: restartRedis,
  };
  const kind = random.pick(Object.keys(kinds));
  await kinds[kind]?.();
  return kind;
}

test.each([11, 12])(
  'whatever happens to users and replicas: every transition once, in order, none invented (seed %i)',
  async (seed) => {
    const random = new SeededRandom(seed);
    const done: string[] = [];
    // One viewer per place, who may see everybody.
    const observe = (place: Place): void => {
      place.replica.connect(user(`viewer ${place.id}`));
      for (const { id } of users) {
        const conversationId = `viewer ${place.id}-${id}` as ConversationId;
        place.replica.presence.learnConversation({ conversationId, type: 'direct', participants: [user(`viewer ${place.id}`), id] });
      }
    };
    for (let round = 0; round < roundsPerSeed; round++) {
      const seeds = users.map(() => random.integer(0, 2 ** 31));
      await Promise.all(
        users.map(async (model, i) => {
          const own = new SeededRandom(seeds[i] ?? 0);
          for (let steps = own.integer(1, 4); steps > 0; steps--) await step(model, own);
        }),
      );
      done.push(await disturb(random));
      await catchUp();
      for (const model of users) {
        const published = log.of(model.id);
        // Somebody whose last lease ended meanwhile may have been said offline by now; nothing else may have happened.
        const isOver = (model.endsMs ?? Number.POSITIVE_INFINITY) <= (await redisMs());
        const isOfflineToo = isOver && model.isOnline && published.length > model.expected.length;
        expect(published, `${model.id} after ${done.join(', ')}`).toEqual(isOfflineToo ? [...model.expected, 'offline'] : model.expected);
      }
    }

    for (const place of fleet.places) observe(place);
    await Promise.all(
      users.map(async (model, i) => {
        if (i % 2 === 0) for (const claim of model.claims) while (claim.connections.length > 0) await disconnect(model, claim);
        else if (!model.isLive) await connect(model, random.pick(fleet.places));
        if (i % 2 === 0) await awaitOffline(model);
      }),
    );
    await systemClock.sleep(2 * times.leaseTtlMs);
    await catchUp();
    for (const model of users) {
      expect(log.of(model.id), `${model.id} at the end, after ${done.join(', ')}`).toEqual(model.expected);
      expect(await log.call('EXISTS', `presence:${model.id}`)).toBe(model.isOnline ? 1 : 0);
    }
    const truth = users.map(({ isOnline }) => (isOnline ? 'online' : 'offline'));
    for (const { id, replica } of fleet.places) {
      const [viewer] = replica.hub.connectionsOf(user(`viewer ${id}`));
      await eventually(() => expect(users.map((model) => viewer?.believes(model.id) ?? 'offline')).toEqual(truth), patience);
    }
  },
  180_000,
);
