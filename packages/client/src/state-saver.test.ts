import { expect, test } from 'vitest';
import { FakeClock, settle } from '../test/fake-clock.js';
import type { ClientState } from './client-state.js';
import { memoryStorage } from './memory-storage.js';
import { StateSaver } from './state-saver.js';
import type { StateStorage } from './storage.js';
import { Timers } from './timers.js';

function saver(storage: StateStorage): { saver: StateSaver; clock: FakeClock; failures: unknown[] } {
  const clock = new FakeClock();
  const timers = new Timers(clock);
  timers.open();
  const failures: unknown[] = [];
  let saves = 0;
  const state = (): ClientState => ({ version: 1, cursor: `${++saves}-0`, last_seq: {} });
  return { saver: new StateSaver(storage, timers, 1_000, state, (cause) => failures.push(cause)), clock, failures };
}

function recording(): StateStorage & { saved: (string | undefined)[] } {
  const saved: (string | undefined)[] = [];
  return { saved, load: () => undefined, save: (state) => void saved.push(state.cursor) };
}

test('many changes within the interval are one save, at its end', async () => {
  const storage = recording();
  const { saver: it, clock } = saver(storage);
  await it.load();
  for (let i = 0; i < 100; i++) it.changed();
  await clock.advance(999);
  expect(storage.saved).toEqual([]);
  await clock.advance(1);
  expect(storage.saved).toEqual(['1-0']);
});

test('a save at once takes the planned one’s place', async () => {
  const storage = recording();
  const { saver: it, clock } = saver(storage);
  await it.load();
  it.changed();
  await it.save();
  await clock.advance(5_000);
  expect(storage.saved).toEqual(['1-0']);
});

test('nothing is saved before the stored state was read: it would be overwritten by nothing', async () => {
  const storage = recording();
  await saver(storage).saver.save();
  expect(storage.saved).toEqual([]);
});

test('a storage that fails is reported, and the client lives', async () => {
  const storage: StateStorage = {
    load: () => JSON.parse('{'),
    save: async () => {
      throw new Error('quota');
    },
  };
  const { saver: it, failures } = saver(storage);
  expect(await it.load()).toBe(undefined);
  await it.save();
  await settle();
  expect(failures).toHaveLength(2);
});

test('a memory storage gives back what it was given', async () => {
  const storage = memoryStorage();
  const { saver: it } = saver(storage);
  await it.load();
  await it.save();
  expect(await saver(storage).saver.load()).toMatchObject({ cursor: '1-0' });
});
