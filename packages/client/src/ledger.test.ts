import { expect, test } from 'vitest';
import { Ledger } from './ledger.js';

const NO_EDGES = new Map<string, number>();

test('assign moves the cursor down as well as up, and null takes it away', () => {
  const ledger = new Ledger();
  ledger.assign('50-0');
  ledger.assign('7-0');
  expect(ledger.cursor).toBe('7-0');
  ledger.assign(null);
  expect(ledger.cursor).toBe(undefined);
});

test('raise only moves it up', () => {
  const ledger = new Ledger();
  for (const cursor of ['50-0', '7-0', undefined, null, 'garbage']) ledger.raise(cursor);
  expect(ledger.cursor).toBe('50-0');
  ledger.raise('50-1');
  expect(ledger.cursor).toBe('50-1');
});

test('a durable frame that is not above the cursor is dropped, one that is raises it', () => {
  const ledger = new Ledger();
  ledger.assign('50-0');
  expect(['50-0', '49-9', '9-0'].map((cursor) => ledger.admits(cursor))).toEqual([false, false, false]);
  expect(ledger.admits('51-0')).toBe(true);
  expect(ledger.cursor).toBe('51-0');
});

test('a frame without a cursor is always let in', () => {
  const ledger = new Ledger();
  ledger.assign('50-0');
  expect([undefined, null].map((cursor) => ledger.admits(cursor))).toEqual([true, true]);
  expect(ledger.cursor).toBe('50-0');
});

test('the first message of a conversation is where it begins', () => {
  const ledger = new Ledger();
  ledger.received('c1', 42);
  expect(ledger.contiguous('c1')).toBe(42);
  expect(ledger.hasGap).toBe(false);
});

test('while a hole is open it is not: a sync may bring earlier ones', () => {
  const ledger = new Ledger();
  ledger.openHole(undefined);
  ledger.received('c1', 42);
  expect(ledger.contiguous('c1')).toBe(undefined);
});

test('a seq is contiguous up to the first missing one', () => {
  const ledger = new Ledger();
  for (const seq of [1, 2, 5, 4]) ledger.received('c1', seq);
  expect([ledger.contiguous('c1'), ledger.hasGap]).toEqual([2, true]);
  ledger.received('c1', 3);
  expect([ledger.contiguous('c1'), ledger.hasGap]).toEqual([5, false]);
});

test('a hole freezes the seqs and the cursor of its moment', () => {
  const ledger = new Ledger();
  ledger.assign('50-0');
  ledger.received('c1', 1);
  ledger.openHole(ledger.cursor);
  ledger.assign('90-0');
  ledger.received('c1', 2);
  ledger.received('c2', 7);
  expect([...(ledger.hole?.lastSeqs ?? [])]).toEqual([['c1', 1]]);
  expect(ledger.hole?.cursor).toBe('50-0');
});

test('a second hole does not move the first', () => {
  const ledger = new Ledger();
  ledger.openHole('50-0');
  ledger.openHole('90-0');
  expect(ledger.hole?.cursor).toBe('50-0');
});

test('a gap’s cursor is the one from before the first frame beyond it', () => {
  const ledger = new Ledger();
  for (const [cursor, seq] of [
    ['50-0', 1],
    ['51-0', 3],
    ['52-0', 4],
  ] as const) {
    ledger.admits(cursor);
    ledger.received('c1', seq);
  }
  ledger.openGap();
  expect(ledger.hole).toEqual({ lastSeqs: new Map([['c1', 1]]), cursor: '50-0' });
});

test('what a sync delivered counts as received, and as asked already when it must start again', () => {
  const ledger = new Ledger();
  ledger.received('c1', 1);
  ledger.openHole('50-0');
  ledger.delivered(
    [
      ['c1', 30],
      ['c2', 9],
    ],
    () => true,
  );
  expect([ledger.contiguous('c1'), ledger.contiguous('c2')]).toEqual([30, 9]);
  expect(ledger.hole?.lastSeqs).toEqual(
    new Map([
      ['c1', 30],
      ['c2', 9],
    ]),
  );
});

test('a conversation that was known but not asked for is not taken for delivered', () => {
  const ledger = new Ledger();
  ledger.received('c1', 1);
  ledger.openHole('50-0');
  ledger.delivered(
    [
      ['c1', 30],
      ['c2', 9],
    ],
    () => false,
  );
  expect([ledger.contiguous('c1'), ledger.contiguous('c2')]).toEqual([1, 9]);
});

test('a gap that a sync asked after it did not fill is none', () => {
  const ledger = new Ledger();
  ledger.received('c1', 1);
  ledger.received('c1', 3);
  ledger.openGap();
  const edges = ledger.edges();
  ledger.received('c1', 5);
  expect(ledger.closeHole(edges)).toBe(false);
  expect([ledger.contiguous('c1'), ledger.hasGap, ledger.hole]).toEqual([3, true, undefined]);
});

test('a gap that was filled is said to be', () => {
  const ledger = new Ledger();
  ledger.received('c1', 1);
  ledger.received('c1', 3);
  ledger.openGap();
  const edges = ledger.edges();
  ledger.received('c1', 2);
  expect(ledger.closeHole(edges)).toBe(true);
});

test('after a sync a conversation that it did not name begins with what was received', () => {
  const ledger = new Ledger();
  ledger.openHole(undefined);
  for (const seq of [7, 8, 10]) ledger.received('c9', seq);
  ledger.closeHole(NO_EDGES);
  expect([ledger.contiguous('c9'), ledger.hasGap]).toEqual([8, true]);
});

test('a hole that opened during the sync stays, and leaves out what only it can tell', () => {
  const ledger = new Ledger();
  ledger.openHole('10-0');
  ledger.delivered([['c1', 4]], () => true);
  ledger.received('c9', 7);
  ledger.closeHole(NO_EDGES, { cursor: '60-0' });
  expect(ledger.hole).toEqual({ lastSeqs: new Map([['c1', 4]]), cursor: '60-0' });
});

test('a state comes back as it was saved, with its hole', () => {
  const ledger = new Ledger();
  ledger.assign('50-0');
  ledger.received('__proto__', 3);
  ledger.openHole('50-0');
  ledger.assign('90-0');
  const restored = new Ledger();
  restored.restore(JSON.parse(JSON.stringify({ ...ledger.snapshot() })));
  expect([restored.cursor, restored.contiguous('__proto__')]).toEqual(['90-0', 3]);
  expect(restored.hole).toEqual({ lastSeqs: new Map([['__proto__', 3]]), cursor: '50-0' });
});

test('an open gap is saved as a hole: what waits behind it is below the cursor and not with the application yet', () => {
  const ledger = new Ledger();
  for (const [cursor, seq] of [
    ['50-0', 1],
    ['51-0', 3],
  ] as const) {
    ledger.admits(cursor);
    ledger.received('c1', seq);
  }
  expect(ledger.snapshot()).toMatchObject({ cursor: '51-0', last_seq: { c1: 1 }, needs_sync: { last_seq: { c1: 1 }, cursor: '50-0' } });
});
