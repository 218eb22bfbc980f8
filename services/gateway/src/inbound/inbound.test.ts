import type { AuthOkFrame, ErrorFrame, FrameCursor, PongFrame, StreamId, SyncFrame, UserId } from '@event-gateway/protocol';
import { FakeClock, Metrics } from '@event-gateway/runtime';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Inbound, type InboundOptions } from './inbound.js';
import type { InboundCloseReason, InboundConnection } from './inbound-connection.js';
import { InboundMetrics } from './inbound-metrics.js';
import type { TokenVerdict } from './on-auth.js';

class FakeConnection implements InboundConnection {
  readonly userId = 'alice' as UserId;
  readonly frames: (PongFrame | ErrorFrame | AuthOkFrame)[] = [];
  closedFor: InboundCloseReason | undefined;
  isGreeted = true;
  readonly #waiting: (() => void)[] = [];

  get isOpen(): boolean {
    return this.closedFor === undefined;
  }

  greeted(): Promise<void> {
    return this.isGreeted ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  greet(): void {
    this.isGreeted = true;
    for (const resolve of this.#waiting) resolve();
  }

  writeControl(frame: PongFrame | ErrorFrame | AuthOkFrame): void {
    expect(this.isGreeted).toBe(true);
    expect(this.isOpen).toBe(true);
    this.frames.push(frame);
  }

  close(reason: InboundCloseReason): void {
    this.closedFor ??= reason;
  }

  get errors(): string[] {
    return this.frames.flatMap((frame) => (frame.type === 'error' ? [frame.error.code] : []));
  }

  get pongs(): number {
    return this.frames.filter((frame) => frame.type === 'pong').length;
  }
}

const options: InboundOptions = {
  maxFrameBytes: 4096,
  inboundMaxDepth: 16,
  inboundMaxViolations: 5,
  inboundFramesPerSecond: 20,
  inboundBurst: 40,
};

let clock: FakeClock;
let metrics: Metrics;
let connection: FakeConnection;
let inbound: Inbound<FakeConnection>;
let cursor: FrameCursor | undefined;
let calls: unknown[][];
let verdict: TokenVerdict | Promise<TokenVerdict>;
beforeEach(() => {
  clock = new FakeClock();
  metrics = new Metrics();
  connection = new FakeConnection();
  cursor = '5-0' as StreamId;
  calls = [];
  verdict = { userId: connection.userId, expiresAtMs: clock.wallMs() + 5000 };
  inbound = new Inbound<FakeConnection>(
    {
      clock,
      metrics: new InboundMetrics(metrics),
      typing: { onTyping: (_, conversationId) => void calls.push(['typing', conversationId]) },
      sync: { onSync: (_, frame: SyncFrame) => void calls.push(['sync', frame]) },
      auth: {
        authenticate: async (token) => {
          calls.push(['authenticate', token]);
          return verdict;
        },
        renewExpiry: (_, expiresAtMs) => void calls.push(['renewExpiry', expiresAtMs]),
      },
      pongCursor: () => cursor,
    },
    options,
  );
});

function send(frame: unknown, isBinary = false): void {
  inbound.onMessage(connection, new TextEncoder().encode(typeof frame === 'string' ? frame : JSON.stringify(frame)), isBinary);
}

async function counted(type: string, outcome: string): Promise<number> {
  const line = new RegExp(`gateway_inbound_frames_total\\{type="${type}",outcome="${outcome}"\\} (\\d+)`).exec(await metrics.text());
  return Number(line?.[1]);
}

describe('each type has its handler', () => {
  test('ping is answered with the cursor of what was handled and flushed', async () => {
    send({ type: 'ping', unknown_field: { a: 1 } });
    expect(connection.frames).toEqual([{ type: 'pong', cursor: '5-0' }]);
    expect(await counted('ping', 'ok')).toBe(1);
  });

  test('pong carries no cursor while the socket catches up, and null in pub/sub mode', () => {
    cursor = undefined;
    send({ type: 'ping' });
    cursor = null;
    send({ type: 'ping' });
    expect(connection.frames).toEqual([{ type: 'pong' }, { type: 'pong', cursor: null }]);
  });

  test('typing and sync go to their rooms', () => {
    send({ type: 'typing', conversation_id: 'c1' });
    send({ type: 'sync', conversations: { c1: 4 }, ref: 'r' });
    expect(calls).toEqual([
      ['typing', 'c1'],
      ['sync', { type: 'sync', conversations: new Map([['c1', 4]]), ref: 'r' }],
    ]);
    expect(connection.frames).toEqual([]);
  });
});

describe('violations', () => {
  const nonsense: Record<string, [frame: string, isBinary: boolean, code: string]> = {
    'not JSON': ['{"type":', false, 'bad_json'],
    empty: ['', false, 'bad_json'],
    'a string': ['"ping"', false, 'bad_frame'],
    null: ['null', false, 'bad_frame'],
    'an array': ['[]', false, 'bad_frame'],
    'no type': ['{}', false, 'bad_frame'],
    'an id that is none': ['{"type":"typing","conversation_id":""}', false, 'bad_frame'],
    'too deep': [`{"type":"ping","x":${'['.repeat(200)}${']'.repeat(200)}}`, false, 'too_deep'],
    binary: ['{"type":"ping"}', true, 'binary'],
  };

  test.each(Object.entries(nonsense))('%s: one error each, the fifth within a minute closes', async (_label, [frame, isBinary, code]) => {
    for (let i = 0; i < 4; i++) send(frame, isBinary);
    expect(connection.errors).toEqual(Array(4).fill(code));
    expect(connection.isOpen).toBe(true);
    send(frame, isBinary);
    expect(connection.errors).toEqual(Array(5).fill(code));
    expect(connection.closedFor).toBe('protocol_violation');
    expect(await counted('other', code)).toBe(5);
  });

  test('those older than a minute are forgiven', async () => {
    for (let i = 0; i < 20; i++) {
      send('{');
      await clock.advance(15_001);
    }
    expect(connection.isOpen).toBe(true);
    await clock.advance(60_000);
    for (let i = 0; i < 5; i++) send('{');
    expect(connection.closedFor).toBe('protocol_violation');
  });

  test('an unknown type is answered and never counts', async () => {
    for (let i = 0; i < 30; i++) send({ type: 'from.the.future' });
    expect(connection.errors).toEqual(Array(30).fill('unknown_type'));
    expect(connection.isOpen).toBe(true);
    expect(await counted('other', 'unknown_type')).toBe(30);
  });

  test('an error names the ref of its sync', () => {
    send({ type: 'sync', conversations: 7, ref: 'r1' });
    expect(connection.frames).toMatchObject([{ type: 'error', error: { code: 'bad_frame', ref: 'r1' } }]);
  });

  test('after the close nothing is read', () => {
    for (let i = 0; i < 5; i++) send('{');
    send({ type: 'typing', conversation_id: 'c1' });
    expect(calls).toEqual([]);
    expect(connection.frames).toHaveLength(5);
  });

  test('one connection does not pay for another', () => {
    for (let i = 0; i < 5; i++) send('{');
    connection = new FakeConnection();
    send({ type: 'ping' });
    expect(connection.pongs).toBe(1);
  });
});

describe('size', () => {
  test('a frame of the limit is read, one above closes with too_big', async () => {
    const frame = (bytes: number): string => `{"type":"ping","x":"${'x'.repeat(bytes - 22)}"}`;
    send(frame(4096));
    expect(connection.pongs).toBe(1);
    send(frame(4097));
    expect(connection.errors).toEqual(['too_big']);
    expect(connection.closedFor).toBe('too_big');
    expect(await counted('other', 'too_big')).toBe(1);
  });

  test('it is counted in bytes', () => {
    send(`{"type":"ping","x":"${'ж'.repeat(2100)}"}`);
    expect(connection.closedFor).toBe('too_big');
  });
});

describe('rate', () => {
  const pings = (count: number): void => {
    for (let i = 0; i < count; i++) send({ type: 'ping' });
  };

  /** Sends at a steady rate. */
  const pingAt = async (perSecond: number, seconds: number): Promise<void> => {
    for (let i = 0; i < perSecond * seconds && connection.isOpen; i++) {
      send({ type: 'ping' });
      await clock.advance(1000 / perSecond);
    }
  };

  test('a burst within the limit is served', () => {
    pings(40);
    expect(connection.pongs).toBe(40);
    expect(connection.errors).toEqual([]);
  });

  test('frames too many are dropped; the first is forgiven, each one more is told and a violation', async () => {
    pings(41);
    expect([connection.pongs, connection.errors]).toEqual([40, ['rate_limited']]);
    expect(connection.frames.at(-1)).toMatchObject({ error: { retry_after_ms: 50 } });
    pings(4);
    expect([connection.errors.length, connection.isOpen]).toEqual([5, true]);
    await clock.advance(1000);
    pings(20);
    expect(connection.pongs).toBe(60);
    expect(await counted('other', 'rate_limited')).toBe(5);
  });

  test('a flood is closed as flooding with its fifth violation', () => {
    pings(3000);
    expect(connection.closedFor).toBe('flooding');
    expect(connection.pongs).toBe(40);
    expect(connection.errors).toHaveLength(6);
  });

  test('a client a quarter above the rate is never closed, only cut', async () => {
    await pingAt(25, 180);
    expect(connection.isOpen).toBe(true);
    expect(connection.pongs).toBeLessThanOrEqual(40 + 180 * 20);
    expect(connection.errors.length).toBeLessThanOrEqual(180);
  });

  test('a client at twice the rate is closed within seconds', async () => {
    await pingAt(40, 8);
    expect(connection.closedFor).toBe('flooding');
  });

  test('frames that nobody understands are rated as well', () => {
    for (let i = 0; i < 200; i++) send({ type: 'from.the.future' });
    expect(connection.closedFor).toBe('flooding');
  });
});

describe('before hello', () => {
  beforeEach(() => {
    connection.isGreeted = false;
  });

  test('frames wait, and are answered in their order', async () => {
    send({ type: 'ping' });
    send('{');
    send({ type: 'typing', conversation_id: 'c1' });
    expect([connection.frames, calls]).toEqual([[], []]);
    connection.greet();
    await clock.advance(0);
    expect(connection.frames.map((frame) => frame.type)).toEqual(['pong', 'error']);
    expect(calls).toEqual([['typing', 'c1']]);
  });

  test('what waits is bounded, and the client hears that something was dropped', async () => {
    for (let i = 0; i < 10_000; i++) send({ type: 'ping' });
    connection.greet();
    await clock.advance(0);
    expect(connection.pongs).toBeLessThanOrEqual(4096 / 256 + 1);
    expect(connection.errors).toEqual(['rate_limited']);
    expect(connection.isOpen).toBe(true);
    send({ type: 'ping' });
    expect(connection.frames.at(-1)?.type).toBe('pong');
  });

  test('a frame above the size limit closes without a word', () => {
    send(`{"x":"${'x'.repeat(5000)}"}`);
    expect([connection.frames, connection.closedFor]).toEqual([[], 'too_big']);
  });

  test('a connection that closes instead is left alone', async () => {
    send({ type: 'typing', conversation_id: 'c1' });
    connection.close('too_big');
    connection.greet();
    await clock.advance(0);
    expect(calls).toEqual([]);
  });
});

describe('auth', () => {
  test('a good token of the same user renews the expiry', async () => {
    send({ type: 'auth', token: 't' });
    await clock.advance(0);
    expect(calls).toEqual([
      ['authenticate', 't'],
      ['renewExpiry', clock.wallMs() + 5000],
    ]);
    expect(connection.frames).toEqual([{ type: 'auth.ok', expires_in_ms: 5000 }]);
    expect(await counted('auth', 'ok')).toBe(1);
  });

  test.each([
    ['another user', { userId: 'mallory' as UserId, expiresAtMs: 8.64e15 }],
    ['an invalid token', { status: 401 as const }],
  ])('%s closes the connection', async (_what, refused) => {
    verdict = refused;
    send({ type: 'auth', token: 't' });
    await clock.advance(0);
    expect(connection.closedFor).toBe('token_refused');
    expect(connection.frames).toEqual([]);
    expect(calls.map(([name]) => name)).toEqual(['authenticate']);
    expect(await counted('auth', 'refused')).toBe(1);
  });

  test('a token that cannot be judged now costs nothing: the client is told when to send it again', async () => {
    verdict = { status: 503, retryAfterS: 3 };
    for (let i = 0; i < 10; i++) {
      send({ type: 'auth', token: 't' });
      await clock.advance(100);
    }
    expect(connection.isOpen).toBe(true);
    expect(connection.frames[0]).toMatchObject({ type: 'error', error: { code: 'rate_limited', retry_after_ms: 3000 } });
    expect(await counted('auth', 'unavailable')).toBe(10);
  });

  test('one is judged at a time', async () => {
    let decide: (value: TokenVerdict) => void = () => undefined;
    verdict = new Promise((resolve) => (decide = resolve));
    for (let i = 0; i < 3; i++) send({ type: 'auth', token: `t${i}` });
    expect(calls).toEqual([['authenticate', 't0']]);
    expect(connection.errors).toEqual(['rate_limited', 'rate_limited']);
    decide({ userId: connection.userId, expiresAtMs: clock.wallMs() + 1000 });
    await clock.advance(0);
    send({ type: 'auth', token: 't3' });
    expect(calls.filter(([name]) => name === 'authenticate')).toHaveLength(2);
  });

  test('a connection that closed meanwhile is left alone', async () => {
    send({ type: 'auth', token: 't' });
    connection.close('flooding');
    await clock.advance(0);
    expect(connection.frames).toEqual([]);
    expect(calls.map(([name]) => name)).toEqual(['authenticate']);
  });
});

test('random bytes and random JSON are answered, never thrown', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 200 }),
        fc.json().map((text) => new TextEncoder().encode(text)),
      ),
      fc.boolean(),
      (bytes, isBinary) => {
        connection = new FakeConnection();
        inbound.onMessage(connection, bytes, isBinary);
        expect(connection.frames.length + calls.length).toBeGreaterThan(0);
      },
    ),
    { numRuns: 2000 },
  );
});
