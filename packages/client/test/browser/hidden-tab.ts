import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';

interface Answer {
  readonly id?: number;
  readonly result?: { readonly result?: { readonly value?: unknown } };
}

/**
 * A tab that can really be hidden and frozen, spoken to over the DevTools protocol. (Playwright keeps its pages in view, and a page
 * in view cannot be frozen.)
 */
export class HiddenTab {
  readonly #browser: ChildProcess;
  readonly #profile: string;
  readonly #devTools: WebSocket;
  readonly #base: string;
  readonly #answers = new Map<number, (answer: Answer) => void>();
  #lastId = 0;

  private constructor(browser: ChildProcess, profile: string, base: string, devTools: WebSocket) {
    this.#browser = browser;
    this.#profile = profile;
    this.#base = base;
    this.#devTools = devTools;
    devTools.on('message', (text) => {
      const answer: Answer = JSON.parse(String(text));
      if (answer.id !== undefined) this.#answers.get(answer.id)?.(answer);
    });
  }

  static async launch(executablePath: string, flags: readonly string[]): Promise<HiddenTab> {
    const profile = await mkdtemp(join(tmpdir(), 'event-gateway-profile-'));
    const browser = spawn(executablePath, [...flags, '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const base = await listeningOn(browser);
    const pages: { type: string; webSocketDebuggerUrl: string }[] = await (await fetch(`${base}/json/list`)).json();
    const devTools = new WebSocket(pages.find(({ type }) => type === 'page')?.webSocketDebuggerUrl ?? '');
    await once(devTools, 'open');
    return new HiddenTab(browser, profile, base, devTools);
  }

  async goto(url: string): Promise<void> {
    await this.#send('Page.navigate', { url });
  }

  async evaluate(expression: string): Promise<unknown> {
    const { result } = await this.#send('Runtime.evaluate', { expression, returnByValue: true });
    return result?.result?.value;
  }

  /** Another tab comes to the front. */
  async hide(): Promise<void> {
    const other: { id: string } = await (await fetch(`${this.#base}/json/new?about:blank`, { method: 'PUT' })).json();
    await fetch(`${this.#base}/json/activate/${other.id}`);
  }

  async setLifecycle(state: 'frozen' | 'active'): Promise<void> {
    await this.#send('Page.setWebLifecycleState', { state });
  }

  async close(): Promise<void> {
    const ended = once(this.#browser, 'exit');
    await this.#send('Browser.close', {});
    await ended;
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #send(method: string, params: object): Promise<Answer> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      this.#answers.set(id, resolve);
      this.#devTools.send(JSON.stringify({ id, method, params }));
    });
  }
}

async function listeningOn(browser: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of browser.stderr ?? []) {
    text += String(chunk);
    const address = /listening on ws:\/\/([^/]+)/.exec(text)?.[1];
    if (address !== undefined) return `http://${address}`;
  }
  throw new Error(`Chromium ended before it listened: ${text}`);
}
