import { eventually } from '@event-gateway/fleet';
import { describe, expect, test } from 'vitest';
import type { EventSource } from '../src/fanout/event-source.js';
import type { RecordingHandler } from './reading-replica.js';

export interface SourceUnderTest {
  readonly source: EventSource;
  readonly handler: RecordingHandler;
  publish(names: readonly string[]): Promise<unknown>;
  /** Cuts the connection that events arrive on; resolves when a new one may stand. */
  cut(): Promise<unknown>;
}

/** What the walk may rely on, wherever events come from. `make` gives a started source; what it made is ended by its own test file. */
export function eventSourceContract(name: string, make: () => Promise<SourceUnderTest>): void {
  describe(`${name} keeps the contract of a source`, () => {
    const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

    test('hands on every event once, in order', async () => {
      const { handler, publish } = await make();
      for (let round = 0; round < 10; round++) await publish(names(`${round}.`, 30));
      const all = Array.from({ length: 10 }, (_, round) => names(`${round}.`, 30)).flat();
      await eventually(() => expect(handler.names).toEqual(all));
    });

    test('hands on bytes as they were published, under the field `envelope`', async () => {
      const { handler, publish } = await make();
      await publish(['{"text":"привет 👋"}']);
      await eventually(() => expect(handler.names).toEqual(['{"text":"привет 👋"}']));
    });

    test('never hands on a batch before the last one is done, and bounds it', async () => {
      const { handler, publish } = await make();
      handler.hold();
      await publish(['first']);
      await eventually(() => handler.isHandling);
      await publish(names('e', 100));
      handler.release();
      await eventually(() => expect(handler.names).toHaveLength(101));
      expect(Math.max(...handler.batches)).toBeLessThanOrEqual(16);
    });

    test('is ready when it receives, and goes on by itself after its connection was cut', async () => {
      const { source, handler, publish, cut } = await make();
      expect(source.unreadyReasons()).toEqual([]);
      await cut();
      await eventually(() => source.unreadyReasons().length === 0);
      await publish(['after']);
      await eventually(() => expect(handler.names).toEqual(['after']));
    });

    test('a drain resolves when the batch under way is done; nothing comes after it', async () => {
      const { source, handler, publish } = await make();
      handler.hold();
      await publish(['a']);
      await eventually(() => handler.isHandling);
      let isDrained = false;
      const drained = source.drain().then(() => {
        isDrained = true;
      });
      expect(isDrained).toBe(false);
      handler.release();
      await drained;
      await publish(['b']);
      expect(handler.names).toEqual(['a']);
    });

    test('may be stopped at any time, more than once, before it was started too', async () => {
      const { source } = await make();
      await Promise.all([source.stop(), source.stop()]);
      await source.drain();
    });
  });
}
