import { expect, test } from 'vitest';
import { Ledger } from './ledger.js';
import { MessageOrder } from './message-order.js';

class Desk {
  readonly ledger = new Ledger();
  readonly out: (string | number)[] = [];
  isSyncing = false;
  readonly order = new MessageOrder<string | number>(
    this.ledger,
    () => this.isSyncing,
    (item) => this.out.push(item),
  );

  message(seq: number, nowMs = 0): this {
    this.ledger.received('c1', seq);
    this.order.message('c1', seq, seq, nowMs);
    return this;
  }

  live(item: string): this {
    this.order.other('c1', false, item);
    return this;
  }

  synced(item: string): this {
    this.order.other('c1', true, item);
    return this;
  }
}

test('messages in order go straight through', () => {
  expect(new Desk().message(1).message(2).message(3).out).toEqual([1, 2, 3]);
});

test('a message behind a gap waits until the gap is filled', () => {
  const desk = new Desk().message(1).message(4).message(3);
  expect(desk.out).toEqual([1]);
  expect(desk.message(2).out).toEqual([1, 2, 3, 4]);
});

test('one conversation’s gap holds nobody else’s messages', () => {
  const desk = new Desk().message(1).message(3);
  desk.ledger.received('c2', 9);
  desk.order.message('c2', 9, 'other', 0);
  expect(desk.out).toEqual([1, 'other']);
});

test('a released conversation gives what it has, in order, and goes on without waiting', () => {
  const desk = new Desk().message(1).message(4, 100).message(3, 100);
  desk.order.releaseUntil(99);
  expect(desk.out).toEqual([1]);
  desk.order.releaseUntil(100);
  expect(desk.message(5, 200).out).toEqual([1, 3, 4, 5]);
});

test('what was released too early comes late, but comes', () => {
  const desk = new Desk().message(1).message(3, 100);
  desk.order.releaseUntil(100);
  expect(desk.message(2).message(4).out).toEqual([1, 3, 2, 4]);
});

test('a gap after a release is a new one', () => {
  const desk = new Desk().message(1).message(3, 100);
  desk.order.releaseUntil(100);
  expect(desk.message(9, 200).out).toEqual([1, 3]);
  expect(desk.order.heldSinceMs).toBe(200);
});

test('another event of the conversation stays behind the messages that came before it', () => {
  const desk = new Desk().message(1).message(3).live('reaction to 3');
  expect(desk.out).toEqual([1]);
  expect(desk.message(2).out).toEqual([1, 2, 3, 'reaction to 3']);
});

test('what comes live during a sync goes behind what the sync brings', () => {
  const desk = new Desk().message(1);
  desk.isSyncing = true;
  desk.live('edit 2').synced('edit 1');
  expect(desk.out).toEqual([1, 'edit 1']);
  desk.isSyncing = false;
  desk.order.flush();
  expect(desk.out).toEqual([1, 'edit 1', 'edit 2']);
});

test('a live message does not wait for a sync that has nothing for its conversation', () => {
  const desk = new Desk().message(1);
  desk.isSyncing = true;
  expect(desk.message(2).out).toEqual([1, 2]);
});

test('what waited through a sync that failed is older than the next sync', () => {
  const desk = new Desk();
  desk.ledger.openHole(undefined);
  desk.isSyncing = true;
  desk.message(1).live('edit 1');
  desk.isSyncing = false;
  desk.order.flush();
  desk.isSyncing = true;
  desk.synced('edit 2');
  desk.ledger.delivered([['c1', 1]], () => true);
  desk.order.flush();
  expect(desk.out).toEqual([1, 'edit 1', 'edit 2']);
});

test('memory is bounded: order is given up before it', () => {
  const desk = new Desk().message(1);
  for (let seq = 3; seq <= 10_002; seq++) desk.message(seq);
  expect(desk.out).toEqual([1]);
  desk.message(10_003);
  expect(desk.out).toEqual([1, ...Array.from({ length: 10_001 }, (_, index) => index + 3)]);
});

test('a listener that calls back finds everything in place', () => {
  const ledger = new Ledger();
  const out: number[] = [];
  const order: MessageOrder<number> = new MessageOrder(
    ledger,
    () => false,
    (item) => {
      out.push(item);
      order.flush();
    },
  );
  for (const seq of [1, 3, 2]) {
    ledger.received('c1', seq);
    order.message('c1', seq, seq, 0);
  }
  expect(out).toEqual([1, 2, 3]);
});
