import type { StreamId, UserId } from '@event-gateway/protocol';
import { FakeClock, Metrics } from '@event-gateway/runtime';
import { expect, test } from 'vitest';
import { usedBytes } from '../../test/memory.js';
import { Admission } from './admission.js';
import type { Identity } from './authenticate.js';
import { HandshakeMetrics } from './handshake-metrics.js';
import { queryParameter } from './query-parameter.js';
import { cursorOf, type Grant, Upgrade } from './upgrade.js';

function grantOf(query: string): Grant {
  return {
    userId: 'u' as UserId,
    expiresAtMs: 0,
    cursor: queryParameter(query, 'cursor'),
    subprotocol: undefined,
    place: { release: () => undefined },
  };
}

test('a cursor is a stream id or nothing', () => {
  expect(cursorOf(grantOf('token=t&cursor=1764489471000-12'))).toBe('1764489471000-12');
  expect(cursorOf(grantOf('token=t&cursor=yesterday'))).toBeUndefined();
  expect(cursorOf(grantOf('token=t'))).toBeUndefined();
});

test('a cursor does not keep the query, and the token in it, in memory', () => {
  const tokenBytes = 10_000;
  const cursors: (StreamId | undefined)[] = [];
  const before = usedBytes();
  for (let i = 0; i < 1000; i++) {
    // Of bytes, as the transport's texts are: a text put together of others would share its parts.
    const query = Buffer.from(`token=${'t'.repeat(tokenBytes)}&cursor=1764489471000-${i}`).toString();
    cursors.push(cursorOf(grantOf(query)));
  }
  expect(usedBytes() - before).toBeLessThan((1000 * tokenBytes) / 10);
  expect(cursors[999]).toBe('1764489471000-999');
});

test('whoever is judged late, and meanwhile the replica drains, is refused and leaves their place', async () => {
  let isDraining = false;
  const deps = {
    clock: new FakeClock(),
    isDraining: () => isDraining,
    hasBeenReady: () => true,
    connectionCount: () => 0,
    isLagging: () => false,
  };
  const admission = new Admission(deps, { maxConnections: 1, upgradesPerSecond: 10, upgradesBurst: 10, allowedOrigins: undefined });
  let judge: (identity: Identity) => void = () => undefined;
  const authenticator = { authenticate: () => new Promise<Identity>((resolve) => (judge = resolve)) };
  const upgrade = new Upgrade(admission, authenticator, new HandshakeMetrics(new Metrics()));
  const decide = (): ReturnType<Upgrade['decide']> =>
    upgrade.decide({ query: '', authorization: 'Bearer t', subprotocols: '', origin: '' });
  const waiting = decide();
  isDraining = true;
  judge({ userId: 'u' as UserId, expiresAtMs: 1 });
  expect(await waiting).toMatchObject({ status: 503, code: 'draining', retryAfterS: expect.any(Number) });
  isDraining = false;
  const next = decide();
  judge({ userId: 'u' as UserId, expiresAtMs: 1 });
  expect(await next).toMatchObject({ userId: 'u' });
});
