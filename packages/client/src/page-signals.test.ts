import { afterEach, expect, test, vi } from 'vitest';
import { startClient } from '../test/start-client.js';
import { browserPageSignals, type PageSignal } from './page-signals.js';

afterEach(() => vi.unstubAllGlobals());

function stubPage(): { window: EventTarget; document: EventTarget & { hidden: boolean }; navigator: { onLine: boolean } } {
  const page = { window: new EventTarget(), document: Object.assign(new EventTarget(), { hidden: false }), navigator: { onLine: true } };
  for (const [name, value] of Object.entries(page)) vi.stubGlobal(name, value);
  return page;
}

test('where there is no page there are no signals', () => {
  expect(browserPageSignals()).toBe(undefined);
});

test('the browser’s events, in the client’s words', () => {
  const { window, document } = stubPage();
  const heard: PageSignal[] = [];
  const stop = browserPageSignals()?.listen((signal) => heard.push(signal));
  const fire = (target: EventTarget, type: string, fields: object = {}): void =>
    void target.dispatchEvent(Object.assign(new Event(type), fields));
  fire(window, 'offline');
  fire(window, 'online');
  document.hidden = true;
  fire(document, 'visibilitychange');
  document.hidden = false;
  fire(document, 'visibilitychange');
  fire(document, 'freeze');
  fire(document, 'resume');
  fire(window, 'pagehide', { persisted: false });
  fire(window, 'pagehide', { persisted: true });
  fire(window, 'pageshow', { persisted: true });
  expect(heard).toEqual(['offline', 'online', 'rest', 'wake', 'freeze', 'wake', 'rest', 'freeze', 'wake']);
  stop?.();
  fire(window, 'online');
  expect(heard).toHaveLength(9);
});

test('what the page says of itself is asked anew each time', () => {
  const { document, navigator } = stubPage();
  const signals = browserPageSignals();
  navigator.onLine = false;
  document.hidden = true;
  expect([signals?.isOffline(), signals?.isHidden()]).toEqual([true, true]);
});

test('offline: an open socket is asked, and lost; then nothing is tried until the network is back', async () => {
  const { page, socket, sockets, clock, client } = await startClient();
  socket().hello();
  page.offline = true;
  page.signal('offline');
  expect(socket().sentOf('ping')).toHaveLength(1);
  await clock.advance(5_000);
  expect(client.status).toMatchObject({ state: 'offline', reason: 'no_network' });
  await clock.advance(50_000);
  expect(sockets.length).toBe(1);
  page.offline = false;
  page.signal('online');
  await clock.advance(1_000);
  expect(sockets.length).toBe(2);
});

test('offline for a moment: a socket that answers is kept', async () => {
  const { page, socket, sockets, clock, client } = await startClient();
  socket().hello();
  page.signal('offline');
  socket().frame({ type: 'pong', cursor: '101-0' });
  await clock.advance(10_000);
  expect(client.state).toBe('online');
  expect(sockets.length).toBe(1);
});

test('a browser that wrongly believes to be offline is tried once a minute', async () => {
  const { page, socket, sockets, clock } = await startClient();
  socket().hello();
  page.offline = true;
  socket().serverClose(1006);
  await clock.advance(60_000);
  expect(sockets.length).toBe(2);
});

test('a hidden page keeps its socket, and does not reconnect when nobody has looked for long', async () => {
  const { page, socket, sockets, clock, client } = await startClient();
  socket().hello();
  page.hidden = true;
  page.signal('rest');
  for (let minute = 0; minute < 11; minute++) {
    for (let third = 0; third < 3; third++) {
      await clock.advance(20_000);
      socket().frame({ type: 'pong' });
    }
  }
  expect(client.state).toBe('online');
  socket().serverClose(1012);
  expect(client.status).toMatchObject({ state: 'offline', reason: 'hidden' });
  await clock.advance(3_600_000);
  expect(sockets.length).toBe(1);
  page.hidden = false;
  page.signal('wake');
  await clock.advance(0);
  expect(sockets.length).toBe(2);
});

test('a page that was hidden a moment ago reconnects as ever', async () => {
  const { page, socket, sockets, clock } = await startClient();
  socket().hello();
  page.hidden = true;
  page.signal('rest');
  await clock.advance(1_000);
  socket().serverClose(1006);
  await clock.advance(5_000);
  expect(sockets.length).toBe(2);
});

test('a freeze gives the socket up in order and saves; waking resumes from the cursor at once', async () => {
  const saved: unknown[] = [];
  const { page, socket, sockets, clock, client } = await startClient({
    storage: { load: () => undefined, save: (state) => void saved.push(state.cursor) },
  });
  socket().hello();
  socket().frame({ type: 'pong', cursor: '150-0' });
  await clock.advance(500);
  page.signal('freeze');
  expect(saved).toEqual(['150-0']);
  expect(socket().closedByClient).toBe(1000);
  expect(client.status).toMatchObject({ state: 'offline', reason: 'frozen' });
  clock.sleep(3_600_000);
  page.signal('wake');
  await clock.advance(0);
  expect(sockets.length).toBe(2);
  expect(socket().cursor).toBe('150-0');
});

test('waking asks an open socket whether it still is one', async () => {
  const { page, socket, clock, client } = await startClient();
  socket().hello();
  clock.sleep(3_600_000);
  page.signal('wake');
  expect(socket().sentOf('ping')).toHaveLength(1);
  await clock.advance(5_000);
  expect(client.status).toMatchObject({ state: 'reconnecting', reason: 'heartbeat' });
});

test('whoever looks does not wait for the back-off, and flipping between tabs is not an attempt each time', async () => {
  const { page, socket, sockets, clock } = await startClient();
  for (let i = 0; i < 6; i++) {
    socket().refuse();
    await clock.advance(30_000);
  }
  const before = sockets.length;
  socket().refuse();
  for (let flip = 0; flip < 20; flip++) {
    page.signal('rest');
    page.signal('wake');
    await clock.advance(10);
    socket().refuse();
  }
  expect(sockets.length).toBe(before + 1);
});
