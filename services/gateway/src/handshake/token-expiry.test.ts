import type { TokenExpiringFrame } from '@event-gateway/protocol';
import { FakeClock } from '@event-gateway/runtime';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Deadline, DeadlineHeap } from './deadline-heap.js';
import { TokenExpiry } from './token-expiry.js';

class FakeConnection {
  readonly frames: TokenExpiringFrame[] = [];
  closedAtMs: number | undefined;

  writeControl(frame: TokenExpiringFrame): void {
    this.frames.push(frame);
  }

  close(reason: 'token_expired'): void {
    expect(reason).toBe('token_expired');
    this.closedAtMs = clock.nowMs();
  }
}

let clock: FakeClock;
let expiry: TokenExpiry<FakeConnection>;
beforeEach(() => {
  clock = new FakeClock();
  expiry = new TokenExpiry({ clock }, { tokenExpiringBeforeMs: 60_000 });
});

function watched(inMs: number): FakeConnection {
  const connection = new FakeConnection();
  expiry.watch(connection, clock.wallMs() + inMs);
  return connection;
}

describe('TokenExpiry', () => {
  test('announces 60 s before, once, and closes at expiry', async () => {
    const connection = watched(100_000);
    await clock.advance(39_999);
    expect(connection.frames).toEqual([]);
    await clock.advance(1);
    expect(connection.frames).toEqual([{ type: 'token.expiring', expires_in_ms: 60_000 }]);
    await clock.advance(59_999);
    expect(connection.closedAtMs).toBeUndefined();
    await clock.advance(1);
    expect(connection.closedAtMs).toBe(100_000);
    expect(connection.frames).toHaveLength(1);
  });

  test('announces at once when less is left, but not before the tick has ended', async () => {
    const connection = watched(5000);
    expect(connection.frames).toEqual([]);
    await clock.advance(0);
    expect(connection.frames).toEqual([{ type: 'token.expiring', expires_in_ms: 5000 }]);
  });

  test('a fresh token moves the expiry and is announced by itself', async () => {
    const connection = watched(100_000);
    await clock.advance(50_000);
    expiry.watch(connection, clock.wallMs() + 200_000);
    await clock.advance(140_000);
    expect(connection.frames.map((frame) => frame.expires_in_ms)).toEqual([60_000, 60_000]);
    expect(connection.closedAtMs).toBeUndefined();
    await clock.advance(60_000);
    expect(connection.closedAtMs).toBe(250_000);
  });

  test('a fresh token that ends sooner ends the connection sooner', async () => {
    const connection = watched(1_000_000);
    expiry.watch(connection, clock.wallMs() + 1000);
    await clock.advance(1000);
    expect(connection.closedAtMs).toBe(1000);
  });

  test('an earlier one among later ones is on time', async () => {
    const late = watched(500_000);
    const early = watched(70_000);
    await clock.advance(70_000);
    expect([early.closedAtMs, late.closedAtMs]).toEqual([70_000, undefined]);
  });

  test('a closed connection is forgotten, and with it every timer', async () => {
    const connection = watched(100_000);
    expiry.forget(connection);
    expiry.forget(connection);
    await clock.advance(200_000);
    expect([connection.frames.length, connection.closedAtMs]).toEqual([0, undefined]);
    expect(clock.pendingCount).toBe(0);
  });

  test('ten thousand connections need one timer', () => {
    for (let i = 0; i < 10_000; i++) watched(3_600_000 + i);
    expect(clock.pendingCount).toBe(1);
  });

  test('a token far beyond 2^31 ms is neither closed at once nor by then', async () => {
    const far = watched(2 ** 31 + 120_000);
    const never = watched(8.64e15 - clock.wallMs());
    await clock.advance(86_400_000);
    expect([far.closedAtMs, never.closedAtMs, far.frames.length, never.frames.length]).toEqual([undefined, undefined, 0, 0]);
  });

  test('many that end in the same moment are closed in slices, all of them', async () => {
    const connections = Array.from({ length: 1200 }, () => watched(1000));
    await clock.advance(1000);
    expect(connections.every((connection) => connection.closedAtMs === 1000)).toBe(true);
  });

  test('a clock that is set forward is noticed within 30 s', async () => {
    let setForwardMs = 0;
    const movable = {
      nowMs: () => clock.nowMs(),
      wallMs: () => clock.wallMs() + setForwardMs,
      setTimeout: (fn: () => void, ms: number) => clock.setTimeout(fn, ms),
      sleep: (ms: number) => clock.sleep(ms),
    };
    const connection = new FakeConnection();
    new TokenExpiry({ clock: movable }, { tokenExpiringBeforeMs: 0 }).watch(connection, movable.wallMs() + 3_600_000);
    setForwardMs = 3_600_000;
    await clock.advance(30_000);
    expect(connection.closedAtMs).toBe(30_000);
  });

  test('a stop ends the timer', () => {
    watched(1000);
    expiry.stop();
    expect(clock.pendingCount).toBe(0);
  });
});

describe('DeadlineHeap', () => {
  test('gives out the earliest first, whatever was added, moved and removed', () => {
    const step = fc.tuple(fc.constantFrom('add', 'add', 'move', 'remove'), fc.nat(1000), fc.nat());
    fc.assert(
      fc.property(fc.array(step, { minLength: 50, maxLength: 200 }), (steps) => {
        const heap = new DeadlineHeap<Deadline>();
        const members: Deadline[] = [];
        for (const [what, atMs, at] of steps) {
          const member = members[at % Math.max(1, members.length)];
          if (what === 'add') {
            const added = { atMs, index: -1 };
            members.push(added);
            heap.add(added);
          } else if (member !== undefined && what === 'move') heap.move(member, atMs);
          else if (member !== undefined) {
            heap.remove(member);
            members.splice(members.indexOf(member), 1);
          }
        }
        const order: number[] = [];
        for (let first = heap.first; first !== undefined; first = heap.first) {
          order.push(first.atMs);
          heap.remove(first);
        }
        expect(order).toEqual(members.map((member) => member.atMs).sort((a, b) => a - b));
      }),
    );
  });
});
