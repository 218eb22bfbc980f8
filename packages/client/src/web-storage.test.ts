import { expect, test } from 'vitest';
import type { ClientState } from './client-state.js';
import { type WebStorageArea, webStorage } from './web-storage.js';

function area(): WebStorageArea & { items: Map<string, string> } {
  const items = new Map<string, string>();
  return { items, getItem: (key) => items.get(key) ?? null, setItem: (key, value) => void items.set(key, value) };
}
const state: ClientState = { version: 1, cursor: '5-0', last_seq: { c1: 7 } };

test('what one client saved, the next one loads', () => {
  const store = area();
  webStorage('u1', store).save(state);
  expect(webStorage('u1', store).load()).toEqual(state);
});

test('each user has a key of their own', () => {
  const store = area();
  webStorage('u1', store).save(state);
  expect(webStorage('u2', store).load()).toBe(undefined);
});

test('of two tabs the last one to write wins, and what it wrote is whole', () => {
  const store = area();
  const [one, two] = [webStorage('u1', store), webStorage('u1', store)];
  one.save({ ...state, needs_sync: { last_seq: {} } });
  two.save({ ...state, cursor: '6-0' });
  expect(store.items.size).toBe(1);
  expect(webStorage('u1', store).load()).toEqual({ ...state, cursor: '6-0' });
});
