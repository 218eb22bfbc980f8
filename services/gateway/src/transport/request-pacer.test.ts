import { FakeClock } from '@event-gateway/runtime';
import { beforeEach, expect, test } from 'vitest';
import { RequestPacer } from './request-pacer.js';

/** 2,000 a second: ten in a step of 5 ms. */
const perStep = 10;

let clock: FakeClock;
let pacer: RequestPacer;
let mayWait: boolean;
beforeEach(() => {
  clock = new FakeClock();
  pacer = new RequestPacer(clock, 2000);
  mayWait = true;
});

class Knocking {
  isPaused = false;
  /** Monotonic ms of when it may be read. */
  readMs: number | undefined;

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    expect(this.isPaused).toBe(true);
    this.isPaused = false;
    this.readMs = clock.nowMs();
    // What is there is read when the step is over.
    if (this.hasWritten) queueMicrotask(() => pacer.onRequest());
  }

  readonly hasWritten: boolean;

  constructor(hasWritten = true) {
    this.hasWritten = hasWritten;
  }
}

function knock(socket = new Knocking()): Knocking {
  pacer.onAccepted(socket, mayWait);
  if (socket.isPaused) return socket;
  socket.readMs = clock.nowMs();
  if (socket.hasWritten) pacer.onRequest();
  return socket;
}

function crowd(count: number, hasWritten = true): Knocking[] {
  return Array.from({ length: count }, () => knock(new Knocking(hasWritten)));
}

const readCount = (sockets: readonly Knocking[]): number => sockets.filter(({ readMs }) => readMs !== undefined).length;

test('sockets that come no faster than they are read never wait', async () => {
  for (let step = 0; step < 100; step++) {
    expect(readCount(crowd(perStep))).toBe(perStep);
    await clock.advance(5);
  }
});

test('of a crowd a portion is read in each step, in the order of its coming', async () => {
  const sockets = crowd(95);
  expect(readCount(sockets)).toBe(perStep);
  await clock.advance(20);
  expect(readCount(sockets)).toBe(5 * perStep);
  const late = knock();
  await clock.advance(25);
  expect(readCount(sockets)).toBe(95);
  const readAt = [...sockets, late].map(({ readMs = Number.NaN }) => readMs);
  expect(readAt).toEqual(readAt.toSorted((a, b) => a - b));
  expect(late.readMs).toBe(45);
});

test('no more are read at a time than would hold up the loop if all their requests came at once', async () => {
  const sockets = crowd(1000, false);
  await clock.advance(400);
  expect(readCount(sockets)).toBe(32);
  pacer.onRequest();
  pacer.onRequest();
  await clock.advance(5);
  expect(readCount(sockets)).toBe(34);
});

test('silent sockets hold up those behind them for half a second, however many come', async () => {
  const waitsMs: number[] = [];
  for (let tick = 0; tick < 1000; tick++) {
    // 1,000 silent ones a second, and fifty who want something.
    crowd(5, false);
    if (tick % 4 === 0) {
      const cameMs = clock.nowMs();
      const socket = knock();
      if (socket.readMs === undefined) {
        const { resume } = socket;
        socket.resume = () => {
          resume.call(socket);
          waitsMs.push(clock.nowMs() - cameMs);
        };
      }
    }
    await clock.advance(5);
  }
  expect(waitsMs.length).toBeGreaterThan(100);
  expect(Math.max(...waitsMs)).toBeLessThanOrEqual(510);
});

test('nobody waits for longer than a client would, however large the crowd is', async () => {
  const sockets = crowd(20_000);
  await clock.advance(2500);
  expect(readCount(sockets)).toBeLessThan(12_000);
  await clock.advance(3500);
  expect(readCount(sockets)).toBe(20_000);
  const last = knock();
  expect(last.isPaused).toBe(false);
});

test('a low accept rate still lets a thousand a second be told', async () => {
  pacer = new RequestPacer(clock, 1);
  const sockets = crowd(1000);
  await clock.advance(1000);
  expect(readCount(sockets)).toBe(1000);
});

test('a loop that is busy reads no more in a turn than an idle one', async () => {
  const sockets = crowd(500);
  const before = readCount(sockets);
  for (let turn = 0; turn < 20; turn++) await clock.jump(12);
  expect(readCount(sockets) - before).toBe(20 * perStep);
});

test('and goes faster all the same where somebody would wait for too long', async () => {
  const sockets = crowd(5000);
  for (let turn = 0; turn < 600; turn++) await clock.jump(12);
  expect(readCount(sockets)).toBe(5000);
});

test('a process that slept does not read the whole crowd at once', async () => {
  const sockets = crowd(1000);
  await clock.jump(60_000);
  expect(readCount(sockets)).toBeLessThan(100);
});

test('without new sockets nothing ticks', async () => {
  crowd(50);
  await clock.advance(100);
  expect(clock.pendingCount).toBe(0);
});

test('whoever there is no room for in the line is read at once', async () => {
  const sockets = crowd(100);
  mayWait = false;
  expect(knock().isPaused).toBe(false);
  mayWait = true;
  expect(knock().isPaused).toBe(true);
  await clock.advance(100);
  expect(readCount(sockets)).toBe(100);
});

test('once it has stopped nobody waits: those in line are read, whoever comes is read at once, and no step follows', async () => {
  const sockets = crowd(95);
  expect(readCount(sockets)).toBe(perStep);
  pacer.stop();
  expect(readCount(sockets)).toBe(95);
  expect(readCount(crowd(95))).toBe(95);
  expect(clock.pendingCount).toBe(0);
});
