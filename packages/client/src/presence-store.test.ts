import { expect, test } from 'vitest';
import type { PresenceEntry, PresenceStatus } from './frames.js';
import { PresenceStore } from './presence-store.js';

const entry = (user_id: string, status: PresenceStatus, at_ms: number): PresenceEntry => ({ user_id, status, at_ms });

function store(): { presence: PresenceStore; heard: string[] } {
  const heard: string[] = [];
  return { presence: new PresenceStore(({ user_id, status }) => heard.push(`${user_id} ${status}`)), heard };
}

test('the newest news counts; repeats and older ones are ignored', () => {
  const { presence, heard } = store();
  for (const [status, atMs] of [
    ['online', 20],
    ['offline', 10],
    ['offline', 20],
    ['offline', 30],
  ] as const)
    presence.apply(entry('u2', status, atMs));
  expect(heard).toEqual(['u2 online', 'u2 offline']);
  expect(presence.of('u2')).toEqual(entry('u2', 'offline', 30));
});

test('somebody of whom nothing was said is neither online nor offline', () => {
  expect(store().presence.of('u2')).toBe(undefined);
});

test('of two at the same moment the first counts', () => {
  const { presence } = store();
  presence.apply(entry('u2', 'online', 20));
  presence.apply(entry('u2', 'offline', 20));
  expect(presence.of('u2')?.status).toBe('online');
});

test('a snapshot replaces everything, also with older times (a Redis that lost its data)', () => {
  const { presence, heard } = store();
  presence.apply(entry('u2', 'online', 20));
  presence.apply(entry('u3', 'online', 20));
  presence.replace([entry('u2', 'offline', 5)]);
  expect(heard).toEqual(['u2 online', 'u3 online', 'u2 offline', 'u3 unknown']);
});

test('unknown is taken from a snapshot, and any news is newer than it', () => {
  const { presence } = store();
  presence.apply(entry('u2', 'online', 20));
  presence.replace([entry('u2', 'unknown', 90)]);
  expect(presence.of('u2')?.status).toBe('unknown');
  presence.apply(entry('u2', 'online', 20));
  expect(presence.of('u2')?.status).toBe('online');
});

test('a snapshot that changes nothing is silent', () => {
  const { presence, heard } = store();
  presence.apply(entry('u2', 'online', 20));
  presence.replace([entry('u2', 'online', 25)]);
  expect(heard).toEqual(['u2 online']);
});

test('forgetting makes everybody unknown', () => {
  const { presence } = store();
  presence.apply(entry('u2', 'online', 20));
  presence.forget();
  expect(presence.all().map(({ status }) => status)).toEqual(['unknown']);
});
