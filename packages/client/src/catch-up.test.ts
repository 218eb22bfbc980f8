import { expect, test } from 'vitest';
import { message, type Started, startClient } from '../test/start-client.js';
import type { ClientState } from './client-state.js';
import { memoryStorage } from './memory-storage.js';

const required = (cursor: string | null, afterMs = 0): object => ({ type: 'sync.required', reason: 'gap', cursor, after_ms: afterMs });

function complete(started: Started, fields: object = {}): void {
  const ref = started.socket().sentOf('sync').at(-1)?.['ref'];
  started.socket().frame({ type: 'sync.complete', ref, conversations: {}, presence: [], has_more: false, cursor: null, ...fields });
}

const syncs = ({ socket }: Started): Record<string, unknown>[] => socket().sentOf('sync');

async function reconnect(started: Started): Promise<void> {
  started.socket().serverClose(1006);
  await started.clock.advance(5_000);
}

test('a first start syncs: the application wants its dialogs', async () => {
  const started = await startClient({ initialSync: true });
  started.socket().hello();
  expect(syncs(started)).toMatchObject([{ conversations: {}, cursor: '100-0' }]);
  expect(started.client.state).toBe('syncing');
  complete(started);
  expect(started.client.state).toBe('online');
  expect(started.heard('synced')).toHaveLength(1);
});

test('and does not when it was told not to', async () => {
  const started = await startClient({ initialSync: false });
  started.socket().hello();
  expect(syncs(started)).toEqual([]);
  expect(started.client.state).toBe('online');
});

test('a connection that resumes does not sync', async () => {
  const started = await startClient();
  started.socket().hello();
  await reconnect(started);
  started.socket().hello({ resumed: true, cursor: '100-0' });
  expect(syncs(started)).toEqual([]);
});

test('a first sync that was cut off is asked again on the next connection, although that one resumes', async () => {
  const started = await startClient({ initialSync: true });
  started.socket().hello();
  await reconnect(started);
  started.socket().hello({ resumed: true, cursor: '100-0' });
  expect(syncs(started)).toHaveLength(1);
});

test('sync.required: the seqs and the cursor are frozen, the cursor is assigned, and the sync waits its turn', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(7, { cursor: '101-0' }));
  started.socket().frame(required('50-0', 3_000));
  started.socket().frame(message(8, { cursor: '51-0' }));
  expect(started.client.cursor).toBe('51-0');
  await started.clock.advance(2_999);
  expect(syncs(started)).toEqual([]);
  await started.clock.advance(1);
  expect(syncs(started)).toMatchObject([{ conversations: { c1: 7 }, cursor: '101-0' }]);
});

test('a refused cursor: the hole is from before the hello, and sync.required says when', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(7, { cursor: '101-0' }));
  await reconnect(started);
  started.socket().hello({ resumed: false, cursor: '900-0' });
  started.socket().frame({ ...required('900-0', 2_000), reason: 'cursor_unknown' });
  started.socket().frame(message(9, { cursor: '901-0' }));
  await started.clock.advance(1_999);
  expect(syncs(started)).toEqual([]);
  await started.clock.advance(1);
  expect(syncs(started)).toMatchObject([{ conversations: { c1: 7 }, cursor: '101-0' }]);
});

test('a refused cursor without sync.required is synced all the same', async () => {
  const started = await startClient();
  started.socket().hello();
  await reconnect(started);
  started.socket().hello({ resumed: false, cursor: '900-0' });
  await started.clock.advance(5_000);
  expect(syncs(started)).toHaveLength(1);
});

test('pub/sub: no cursor, so every connection after the first syncs by itself', async () => {
  const started = await startClient();
  started.socket().hello({ cursor: null });
  expect(syncs(started)).toEqual([]);
  await reconnect(started);
  expect(started.socket().cursor).toBe(null);
  started.socket().hello({ cursor: null });
  expect(syncs(started)).toHaveLength(1);
  expect(syncs(started)[0]).not.toHaveProperty('cursor');
});

test('a page that was reloaded with a stored state is no first start', async () => {
  const storage = memoryStorage({ version: 1, cursor: '90-0', last_seq: { c1: 4 } });
  const started = await startClient({ storage });
  expect(started.socket().cursor).toBe('90-0');
  started.socket().hello({ resumed: false, cursor: '900-0' });
  started.socket().frame(required('900-0'));
  expect(syncs(started)).toMatchObject([{ conversations: { c1: 4 }, cursor: '90-0' }]);
});

test('a hole survives a reload, until its sync has ended', async () => {
  const states: ClientState[] = [];
  const storage = { load: () => states.at(-1), save: (state: ClientState) => void states.push(structuredClone(state)) };
  const first = await startClient({ storage });
  first.socket().hello();
  first.socket().frame(message(7, { cursor: '101-0' }));
  first.socket().frame(required('200-0', 60_000));
  // Gone without a word, with a sync still to come.
  const second = await startClient({ storage });
  expect(second.socket().cursor).toBe('200-0');
  second.socket().hello({ resumed: true, cursor: '200-0' });
  expect(syncs(second)).toMatchObject([{ conversations: { c1: 7 }, cursor: '101-0' }]);
  complete(second);
  const third = await startClient({ storage });
  third.socket().hello({ resumed: true, cursor: '200-0' });
  expect(syncs(third)).toEqual([]);
});

test('a sync that was cut off is asked again from where it stood', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(1, { cursor: '101-0' }));
  started.socket().frame(required('200-0'));
  started.socket().frame(message(2));
  complete(started, { has_more: true, next: 'p2', conversations: { c1: 2, c2: 30 } });
  await reconnect(started);
  started.socket().hello({ resumed: true, cursor: '200-0' });
  expect(syncs(started)).toMatchObject([{ conversations: { c1: 2, c2: 30 }, cursor: '101-0' }]);
  expect(syncs(started)[0]).not.toHaveProperty('next');
});

test('has_more goes on with the page token, and the seqs that it is a page of', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(1, { cursor: '101-0' }));
  started.socket().frame(required('200-0'));
  started.socket().frame(message(2));
  complete(started, { has_more: true, next: 'p2', conversations: { c1: 2 } });
  expect(syncs(started)).toMatchObject([{ ref: '1' }, { ref: '2', next: 'p2', conversations: { c1: 1 }, cursor: '101-0' }]);
  expect(started.client.state).toBe('syncing');
  complete(started, { conversations: { c1: 9 } });
  expect(started.client.state).toBe('online');
});

test('has_more without a token starts again from the seqs, unhurried', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(1, { cursor: '101-0' }));
  started.socket().frame(required('200-0'));
  started.socket().frame(message(2));
  complete(started, { has_more: true, conversations: { c1: 2 } });
  expect(syncs(started)).toHaveLength(1);
  await started.clock.advance(1_000);
  expect(syncs(started)).toMatchObject([{}, { conversations: { c1: 2 } }]);
});

test('a messenger that pages for ever without a word is not asked at full speed', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(required('200-0'));
  for (let second = 0; second < 60; second++) {
    complete(started, { has_more: true, next: 'again' });
    await started.clock.advance(1_000);
    started.socket().frame({ type: 'pong' });
  }
  expect(syncs(started).length).toBeLessThan(12);
});

test('sync_unavailable is tried again after the given time, and a part of it more', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(required('200-0'));
  started.socket().frame({ type: 'error', error: { code: 'sync_unavailable', message: '', retry_after_ms: 2_000, ref: '1' } });
  expect(started.client.status).toMatchObject({ state: 'syncing', reason: 'sync_unavailable' });
  await started.clock.advance(2_499);
  expect(syncs(started)).toHaveLength(1);
  await started.clock.advance(1);
  expect(syncs(started)).toHaveLength(2);
  complete(started);
  expect(started.client.status).toEqual({ state: 'online', reason: undefined, closeCode: undefined, retryInMs: undefined });
});

test('sync_in_progress is tried again', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(required('200-0'));
  started.socket().frame({ type: 'error', error: { code: 'sync_in_progress', message: '', ref: '1' } });
  await started.clock.advance(1_000);
  expect(syncs(started)).toHaveLength(2);
});

test('an error about something else is the application’s', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(required('200-0'));
  started.socket().frame({ type: 'error', error: { code: 'rate_limited', message: 'slower' } });
  expect(started.heard('error')).toMatchObject([{ code: 'rate_limited', message: 'slower' }]);
  await started.clock.advance(10_000);
  expect(syncs(started)).toHaveLength(1);
});

test('an error without a body says nothing, also during a sync', async () => {
  const started = await startClient();
  started.socket().hello();
  started.client.sync();
  started.socket().frame({ type: 'error' });
  expect(started.heard('error')).toEqual([]);
  complete(started);
  expect(started.client.state).toBe('online');
});

const edit = { type: 'message.edited', cursor: '102-0', conversation_id: 'c1', message: { id: 'c1.m1', text: 'new' } };

test.each<[string, (started: Started) => void | Promise<void>]>([
  ['ended', (started) => complete(started)],
  ['failed', ({ socket }) => socket().frame({ type: 'error', error: { code: 'sync_unavailable', message: '', ref: '1' } })],
  ['lost its connection', ({ socket }) => socket().serverClose(1006)],
  ['started over', async (started) => (complete(started, { has_more: true }), await started.clock.advance(1_000))],
])('a change that comes live waits until the sync under way has %s', async (_how, end) => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(1, { cursor: '101-0' }));
  started.client.sync();
  started.socket().frame(edit);
  expect(started.heard('message.edited')).toHaveLength(0);
  await end(started);
  expect(started.heard('message.edited')).toHaveLength(1);
});

test('a sync that nothing answers is asked again; the late answer to the first does not end the second', async () => {
  const started = await startClient();
  started.socket().hello({ heartbeat_ms: 600_000 });
  started.socket().frame(required('200-0'));
  await started.clock.advance(62_000);
  expect(syncs(started)).toHaveLength(2);
  started.socket().frame({ type: 'sync.complete', ref: '1', conversations: {}, presence: [], has_more: false, cursor: '200-0' });
  expect(started.client.state).toBe('syncing');
  complete(started);
  expect(started.client.state).toBe('online');
});

test('a long sync that keeps bringing frames is left alone', async () => {
  const started = await startClient();
  started.socket().hello({ heartbeat_ms: 600_000 });
  started.socket().frame(required('200-0'));
  for (let minute = 1; minute < 5; minute++) {
    await started.clock.advance(50_000);
    started.socket().frame(message(minute));
  }
  expect(syncs(started)).toHaveLength(1);
});

test('a second hole during a sync is synced after it, from its own cursor', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(1, { cursor: '101-0' }));
  started.socket().frame(required('200-0'));
  started.socket().frame(message(2, { cursor: '201-0' }));
  started.socket().frame(required('300-0', 1_000));
  complete(started, { conversations: { c1: 2 }, cursor: '199-0' });
  expect(started.client.state).toBe('syncing');
  await started.clock.advance(1_000);
  expect(syncs(started)).toMatchObject([{}, { conversations: { c1: 2 }, cursor: '201-0' }]);
  complete(started);
  expect(started.client.state).toBe('online');
});

test('a cursor from before a later assignment does not raise past it (the stream was flushed during the sync)', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(required('200-0'));
  started.socket().frame(required('3-0'));
  complete(started, { cursor: '200-0' });
  started.socket().frame(message(1, { cursor: '4-0' }));
  complete(started, { cursor: '4-0' });
  expect(started.messageIds()).toEqual(['c1.m1']);
});

test('a missing seq gets a moment, then a sync from before it', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(1, { cursor: '101-0' }));
  started.socket().frame(message(3, { cursor: '102-0' }));
  expect(started.messageIds()).toEqual(['c1.m1']);
  await started.clock.advance(300);
  expect(started.client.state).toBe('syncing');
  // Everybody in the conversation sees that gap.
  expect(syncs(started)).toEqual([]);
  await started.clock.advance(500);
  expect(syncs(started)).toMatchObject([{ conversations: { c1: 1 }, cursor: '101-0' }]);
  started.socket().frame(message(2));
  started.socket().frame(message(3));
  complete(started, { conversations: { c1: 3 } });
  expect(started.messageIds()).toEqual(['c1.m1', 'c1.m2', 'c1.m3']);
});

test('a message that was only overtaken costs no sync', async () => {
  const started = await startClient();
  started.socket().hello();
  for (const [seq, cursor] of [
    [1, '101-0'],
    [3, '102-0'],
    [2, '103-0'],
  ] as const)
    started.socket().frame(message(seq, { cursor }));
  await started.clock.advance(10_000);
  expect(started.messageIds()).toEqual(['c1.m1', 'c1.m2', 'c1.m3']);
  expect(syncs(started)).toEqual([]);
});

test('a gap that nothing fills does not hold the others back for ever', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(1, { cursor: '101-0' }));
  started.socket().frame(message(3, { cursor: '102-0' }));
  await started.clock.advance(8_000);
  expect(started.messageIds()).toEqual(['c1.m1', 'c1.m3']);
  started.socket().frame(message(2));
  expect(started.messageIds()).toEqual(['c1.m1', 'c1.m3', 'c1.m2']);
});

test('a gap that a sync could not fill is none, and asked for once', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(1, { cursor: '101-0' }));
  started.socket().frame(message(3, { cursor: '102-0' }));
  await started.clock.advance(1_000);
  complete(started, { conversations: { c1: 1 } });
  expect(started.messageIds()).toEqual(['c1.m1', 'c1.m3']);
  await started.clock.advance(15_000);
  expect(syncs(started)).toHaveLength(1);
});

test('a sync that says it has delivered less than it brought costs one more, however long the messenger has a message in no form', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(5, { cursor: '101-0' }));
  started.socket().frame(required('102-0'));
  for (let asked = 1; asked <= 2; asked++) {
    expect(syncs(started)).toMatchObject(Array.from({ length: asked }, () => ({ conversations: { c1: 5 } })));
    started.socket().frame(message(7));
    complete(started, { conversations: { c1: 5 } });
    await started.clock.advance(10_000);
  }
  for (let i = 0; i < 20; i++) {
    started.socket().frame({ type: 'pong' });
    await started.clock.advance(3_000);
  }
  expect(syncs(started)).toHaveLength(2);
  expect(started.client.state).toBe('online');
});

test('a gap that shows itself during a sync is looked after when that one has ended', async () => {
  const started = await startClient();
  started.socket().hello();
  started.socket().frame(message(1, { cursor: '101-0' }));
  started.client.sync();
  started.socket().frame(message(3, { cursor: '102-0' }));
  complete(started, { conversations: { c1: 1 } });
  expect(started.client.state).toBe('online');
  await started.clock.advance(1_000);
  expect(syncs(started)).toHaveLength(2);
});

test('the cursor of a sync’s end raises the client’s', async () => {
  const started = await startClient({ initialSync: true });
  started.socket().hello();
  complete(started, { cursor: '150-0' });
  expect(started.client.cursor).toBe('150-0');
});

test('three gaps that nothing filled are forgotten with the connection', async () => {
  const started = await startClient();
  const gap = async (seq: number, cursor: string): Promise<void> => {
    started.socket().frame(message(seq, { cursor }));
    await started.clock.advance(30_000);
  };
  started.socket().hello({ heartbeat_ms: 600_000 });
  started.socket().frame(message(1, { cursor: '101-0' }));
  for (const [index, seq] of [3, 5, 7].entries()) {
    await gap(seq, `${102 + index}-0`);
    complete(started, { conversations: {} });
  }
  await reconnect(started);
  started.socket().hello({ resumed: true, heartbeat_ms: 600_000 });
  started.socket().frame(message(9, { cursor: '110-0' }));
  await started.clock.advance(1_000);
  expect(started.messageIds()).not.toContain('c1.m9');
  expect(syncs(started)).toHaveLength(1);
});

test('a messenger whose seqs always have holes is asked less and less, and nothing waits for it any more', async () => {
  const started = await startClient();
  started.socket().hello({ heartbeat_ms: 600_000 });
  let answered = 0;
  for (let i = 0; i < 120; i++) {
    started.socket().frame(message(2 * i + 1, { cursor: `${101 + i}-0` }));
    await started.clock.advance(1_000);
    if (syncs(started).length > answered) complete(started, { conversations: { c1: 0 } });
    answered = syncs(started).length;
  }
  expect(syncs(started).length).toBeLessThan(10);
  expect(started.messageIds()).toHaveLength(120);
});

test('more conversations than fit a frame are asked for in parts, and the sync ends with the last', async () => {
  const lastSeqs = Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`conversation-${index}-${'й'.repeat(10)}`, index]));
  const started = await startClient({ storage: memoryStorage({ version: 1, cursor: '90-0', last_seq: lastSeqs }) });
  started.socket().hello({ resumed: false, cursor: '900-0' });
  started.socket().frame(required('900-0'));
  started.socket().frame(message(1, { conversation: 'new' }));
  complete(started, { conversations: {}, has_more: true, next: 'p2' });
  expect(syncs(started)[1]).toEqual({ ...syncs(started)[0], next: 'p2', ref: '2' });
  for (let part = 1; started.client.state === 'syncing' && part < 20; part++) complete(started, { conversations: { 'conversation-0': 0 } });
  const asked = syncs(started);
  expect(asked.slice(2).every((frame) => frame['next'] === undefined)).toBe(true);
  expect(asked.length).toBeGreaterThan(1);
  for (const frame of asked) expect(Buffer.byteLength(JSON.stringify(frame))).toBeLessThan(65_536);
  expect(Object.assign({}, ...asked.map((frame) => frame['conversations']))).toEqual(lastSeqs);
  expect(started.client.state).toBe('online');
});

test('the application may ask for a sync itself', async () => {
  const started = await startClient();
  started.socket().hello();
  started.client.sync();
  started.client.sync();
  expect(syncs(started)).toHaveLength(1);
});

test('the presence that comes with a sync counts', async () => {
  const started = await startClient({ initialSync: true });
  started.socket().hello();
  complete(started, { presence: [{ user_id: 'u2', status: 'online', at_ms: 5 }] });
  expect(started.client.presence.of('u2')?.status).toBe('online');
});
