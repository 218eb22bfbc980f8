import type { UserId } from '@event-gateway/protocol';
import { FakeClock, Metrics, silentLogger } from '@event-gateway/runtime';
import { beforeEach, expect, test } from 'vitest';
import { Audience } from './audience.js';
import { EventRelay } from './event-relay.js';
import { PresenceMetrics } from './presence-metrics.js';
import { type TestConnection, TestHub, user } from './test/test-hub.js';

const [a, b, c] = ['a', 'b', 'c'].map(user) as [UserId, UserId, UserId];

let clock: FakeClock;
let hub: TestHub;
let audience: Audience;
let metrics: Metrics;
let relay: EventRelay;
let scheduled: UserId[];
let kept: string[];
let isKeeping: boolean;

beforeEach(() => {
  clock = new FakeClock();
  hub = new TestHub();
  audience = new Audience({ audience: 'direct', maxPeers: 5000, lessonPairs: 1000 });
  metrics = new Metrics();
  scheduled = [];
  kept = [];
  isKeeping = false;
  const snapshots = {
    schedule: (userId: UserId) => void scheduled.push(userId),
    keep: (_connection: unknown, _message: unknown, frame: string) => isKeeping && kept.push(frame) > 0,
  };
  relay = new EventRelay({ hub, audience, snapshots, metrics: new PresenceMetrics(metrics), clock, logger: silentLogger });
});

function connect(userId: UserId, ...peers: UserId[]): TestConnection {
  audience.join(userId);
  audience.recall(userId, peers);
  return hub.connect(userId);
}

let atMs = 1_767_225_600_000;
const says = (userId: UserId, status: string, fields: object = {}): void =>
  relay.onMessage(JSON.stringify({ user_id: userId, status, at_ms: ++atMs, ...fields }));

test('a transition reaches every device of those who may see the user, and nobody else', () => {
  const tabs = [connect(b, a), hub.connect(b)];
  const others = [connect(c), connect(a, b)];
  says(a, 'online');
  says(a, 'offline', { last_seen_ms: 1_767_225_600_000 });
  const frames = [
    { type: 'presence', user_id: 'a', status: 'online', at_ms: atMs - 1 },
    { type: 'presence', user_id: 'a', status: 'offline', last_seen: '2026-01-01T00:00:00.000Z', at_ms: atMs },
  ];
  expect(tabs.map((tab) => tab.frames)).toEqual([frames, frames]);
  expect(others.flatMap((other) => other.frames)).toEqual([]);
});

test('a repeat, and what is older than the last, reaches nobody', () => {
  const connection = connect(b, a);
  says(a, 'online');
  says(a, 'online', { at_ms: atMs });
  says(a, 'offline', { at_ms: atMs - 10 });
  expect(connection.told('a')).toEqual(['online']);
});

test('malformed messages are ignored and counted', async () => {
  const connection = connect(b, a);
  for (const text of ['', 'x', 'null', '[]']) relay.onMessage(text);
  says(a, 'away');
  says(a, 'online', { at_ms: 'now' });
  says(a, 'online', { user_id: '' });
  expect(connection.frames).toEqual([]);
  expect(await metrics.text()).toContain('gateway_presence_transitions_total{to="malformed"} 7');
});

test('a last activity that is no time is left out', () => {
  const connection = connect(b, a);
  says(a, 'offline', { last_seen_ms: Number.MAX_SAFE_INTEGER });
  expect(connection.frames).toEqual([{ type: 'presence', user_id: 'a', status: 'offline', at_ms: atMs }]);
});

test('a snapshot under way keeps the event', () => {
  const connection = connect(b, a);
  isKeeping = true;
  says(a, 'online');
  expect(connection.frames).toEqual([]);
  expect(kept).toHaveLength(1);
});

test('somebody whom thousands may see is told in slices, everything in order', async () => {
  const viewers = Array.from({ length: 1000 }, (_, i) => connect(user(`v${i}`), a));
  says(a, 'online');
  says(a, 'offline');
  expect(viewers.filter(({ frames }) => frames.length > 0)).toHaveLength(256);
  await clock.advance(0);
  expect(viewers.every((viewer) => viewer.told('a').join() === 'online,offline')).toBe(true);
});

test('a socket that was full gets a snapshot once it has room', async () => {
  const connection = connect(b, a);
  connection.isFull = true;
  says(a, 'online');
  says(a, 'offline');
  await clock.advance(0);
  expect(scheduled).toEqual([]);
  connection.drain();
  await clock.advance(0);
  expect(scheduled).toEqual([b]);
});

test('more transitions than can be told are told by a snapshot', async () => {
  const peers = Array.from({ length: 200 }, (_, i) => user(`p${i}`));
  const viewers = Array.from({ length: 300 }, (_, i) => connect(user(`v${i}`), ...peers));
  for (let i = 0; i < 20_100; i++) says(peers[i % 200] ?? a, i % 400 < 200 ? 'online' : 'offline');
  await clock.advance(0);
  expect(new Set(scheduled).size).toBe(300);
  expect(viewers.reduce((sum, { frames }) => sum + frames.length, 0)).toBeLessThan(200 * 300);
});

test('stopped, it tells nobody what still waited', async () => {
  const viewers = Array.from({ length: 300 }, (_, i) => connect(user(`v${i}`), a));
  says(a, 'online');
  relay.stop();
  await clock.advance(100);
  expect(viewers.filter(({ frames }) => frames.length > 0)).toHaveLength(256);
});
