import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ConnectionStatus } from '../../src/client-events.js';
import type { GatewayClient } from '../../src/gateway-client.js';
import { ContractServer } from '../contract-server.js';
import { HiddenTab } from './hidden-tab.js';
import { PageServer } from './page-server.js';

declare global {
  interface Window {
    readonly client: GatewayClient;
    readonly seen: { readonly ids: string[]; readonly states: ConnectionStatus[] };
  }
}

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const hasChromium = existsSync(executablePath);
if (!hasChromium) process.stderr.write(`\n*** NOT RUN: the client in a browser. No Chromium at ${executablePath} (set CHROMIUM). ***\n\n`);

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
const QUIET = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];

describe.runIf(hasChromium)('in Chromium', () => {
  let folder: string;
  let browser: Browser;
  let pages: PageServer;
  let server: ContractServer;
  let context: BrowserContext;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'event-gateway-browser-'));
    const bundle = join(folder, 'client.js');
    execFileSync(process.execPath, [fileURLToPath(new URL('../../bin/bundle.mjs', import.meta.url)), bundle]);
    pages = await new PageServer(bundle).start();
    browser = await chromium.launch({ executablePath, args: [...FLAGS, ...QUIET] });
  });

  afterAll(async () => {
    await browser?.close();
    pages?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  beforeEach(async () => {
    server = await new ContractServer().start();
    context = await browser.newContext();
    pages.refreshes.length = 0;
  });

  afterEach(async () => {
    await context.close();
    await server.kill();
  });

  async function open(query: Record<string, string> = {}): Promise<Page> {
    const page = await context.newPage();
    await page.goto(`${pages.url}?${new URLSearchParams({ gateway: server.url, ...query })}`);
    await state(page, 'online');
    return page;
  }

  const state = (page: Page, expected: string): Promise<void> =>
    vi.waitFor(async () => expect(await page.evaluate(() => window.client.state)).toBe(expected), { timeout: 10_000 });
  const ids = (page: Page, expected: string[]): Promise<void> =>
    vi.waitFor(async () => expect(await page.evaluate(() => window.seen.ids)).toEqual(expected), { timeout: 10_000 });
  const publish = (count: number): void => {
    for (let i = 0; i < count; i++) server.gateway.publish(server.gateway.newMessage('c1'));
  };
  const fromTo = (from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, index) => `c1.m${from + index}`);

  test('the token goes as a subprotocol, and messages arrive', async () => {
    const page = await open();
    expect(server.handshakes[0]?.protocols).toEqual(['bearer', 'u1.cached.1']);
    publish(3);
    await ids(page, fromTo(1, 3));
  });

  test('offline and online again: it waits, resumes, and has everything once, without a sync', async () => {
    const page = await open();
    publish(2);
    await ids(page, fromTo(1, 2));
    const syncsBefore = server.gateway.syncRequests;
    await context.setOffline(true);
    server.refuseWith = 503;
    server.cut();
    await state(page, 'offline');
    publish(3);
    const attempts = server.handshakes.length;
    server.refuseWith = undefined;
    await context.setOffline(false);
    await ids(page, fromTo(1, 5));
    await state(page, 'online');
    expect(server.handshakes.length).toBe(attempts + 1);
    expect(server.gateway.syncRequests).toBe(syncsBefore);
  });

  test('a server that is killed: everything once, without a sync', async () => {
    const page = await open();
    publish(2);
    await ids(page, fromTo(1, 2));
    const syncsBefore = server.gateway.syncRequests;
    await server.kill();
    await state(page, 'reconnecting');
    publish(3);
    await server.start();
    await ids(page, fromTo(1, 5));
    expect(server.gateway.syncRequests).toBe(syncsBefore);
  });

  test('a frozen page gives its socket up, and has everything once when it thaws', async () => {
    const tab = await HiddenTab.launch(executablePath, [...FLAGS, ...QUIET]);
    const heard = async (expression: string, expected: unknown): Promise<void> =>
      vi.waitFor(async () => expect(await tab.evaluate(expression)).toEqual(expected), { timeout: 10_000 });
    await tab.goto(`${pages.url}?${new URLSearchParams({ gateway: server.url })}`);
    await heard('window.client?.state', 'online');
    publish(1);
    await heard('window.seen.ids', fromTo(1, 1));
    await tab.hide();
    await heard('document.visibilityState', 'hidden');
    await tab.setLifecycle('frozen');
    await vi.waitFor(() => expect(server.connectionCount).toBe(0), { timeout: 10_000 });
    publish(4);
    await tab.setLifecycle('active');
    await heard('window.seen.ids', fromTo(1, 5));
    await heard('window.client.state', 'online');
    expect(await tab.evaluate('window.seen.states.map(({ reason }) => reason)')).toContain('frozen');
    expect(server.handshakes).toHaveLength(2);
    await tab.close();
  });

  test('a socket that died while the machine slept is noticed soon after it wakes', async () => {
    server.gateway.heartbeatMs = 60_000;
    const page = await open();
    server.isDeaf = true;
    // What the page hears when the lid is opened again.
    await page.evaluate(() => document.dispatchEvent(new Event('resume')));
    await vi.waitFor(async () => expect(await page.evaluate(() => window.seen.states.map(({ reason }) => reason))).toContain('heartbeat'), {
      timeout: 10_000,
    });
    server.isDeaf = false;
    await state(page, 'online');
  });

  test('a token that expires is renewed in band; one that was refused, by a new connection', async () => {
    const page = await open();
    server.push({ type: 'token.expiring', expires_in_ms: 60_000 });
    await vi.waitFor(() => expect(server.receivedOf('auth')).toEqual([{ type: 'auth', token: 'u1.fresh.2' }]));
    server.closeAll(4401);
    await vi.waitFor(() => expect(server.handshakes.at(-1)?.token).toBe('u1.fresh.3'), { timeout: 10_000 });
    await state(page, 'online');
    expect(pages.refreshes).toEqual([false, true, true]);
  });

  test.each([4403, 4409])('%i is the end, also when the page comes back into view', async (code) => {
    const page = await open();
    server.closeAll(code);
    await state(page, 'closed');
    await page.evaluate(() => document.dispatchEvent(new Event('resume')));
    await context.setOffline(true);
    await context.setOffline(false);
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 1_000)));
    expect(server.handshakes).toHaveLength(1);
    expect(await page.evaluate(() => window.client.status.closeCode)).toBe(code);
  });

  test('a reload goes on from the stored cursor', async () => {
    const page = await open({ area: 'session' });
    publish(3);
    await ids(page, fromTo(1, 3));
    await page.reload();
    await state(page, 'online');
    publish(1);
    await ids(page, fromTo(4, 4));
    expect(server.handshakes.at(-1)?.cursor).not.toBe(null);
  });

  test('a hole survives a reload', async () => {
    const page = await open({ area: 'session' });
    publish(1);
    await ids(page, fromTo(1, 1));
    server.gateway.isMessengerDown = true;
    for (let i = 0; i < 3; i++) server.gateway.newMessage('c1');
    server.gateway.gap();
    await state(page, 'syncing');
    await page.reload();
    server.gateway.isMessengerDown = false;
    await ids(page, fromTo(2, 4));
    await state(page, 'online');
  });

  test.each(['session', 'local'])('two tabs over one %s storage: each has everything once, and both can be reloaded', async (area) => {
    const [one, two] = [await open({ area }), await open({ area, initialSync: 'no' })];
    publish(3);
    await ids(one, fromTo(1, 3));
    await ids(two, fromTo(1, 3));
    await one.reload();
    await state(one, 'online');
    publish(2);
    await ids(one, fromTo(4, 5));
    await ids(two, fromTo(1, 5));
    await two.reload();
    await state(two, 'online');
    publish(1);
    await ids(one, fromTo(4, 6));
    await ids(two, fromTo(6, 6));
  });

  test('a page that goes away leaves its connection', async () => {
    const page = await open();
    await page.goto('about:blank');
    await vi.waitFor(() => expect(server.connectionCount).toBe(0), { timeout: 10_000 });
  });
});
