import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger, systemClock } from '@event-gateway/runtime';
import { composeSandbox } from '../src/compose.js';
import { parseConfig } from '../src/config.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Json;
}

/** JSON that a test looks into. */
export interface Json {
  readonly [key: string]: Json;
}

export interface TestSandbox {
  readonly url: string;
  /** A request as nobody in particular. */
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Logs in and asks as that user. */
  as(userId: string): Promise<(method: string, path: string, body?: unknown) => Promise<Answer>>;
  stop(): Promise<void>;
}

/** The whole sandbox in this process, on a free port, with a database of its own. */
export async function startSandbox(environment: Record<string, string> = {}): Promise<TestSandbox> {
  const dir = mkdtempSync(join(tmpdir(), 'sandbox-'));
  const config = parseConfig({ HOST: '127.0.0.1', PORT: '0', DATABASE_FILE: join(dir, 'sandbox.db'), SEED_DEMO: '1', ...environment });
  const { supervisor, http } = composeSandbox(config, systemClock, silentLogger);
  await supervisor.start();
  const url = `http://127.0.0.1:${http.port}`;
  const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    request(url + path, method, body, headers);
  return {
    url,
    ask,
    as: async (userId) => {
      const login = await ask('POST', '/login', { user_id: userId });
      const authorization = `Bearer ${String(login.body['token'])}`;
      return (method, path, body) => ask(method, path, body, { authorization });
    },
    stop: async () => {
      await supervisor.drain(2000);
      await supervisor.stop();
      rmSync(dir, { recursive: true });
    },
  };
}

export async function request(url: string, method: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url, {
    method,
    headers,
    redirect: 'manual',
    ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json');
  return { status: response.status, headers: response.headers, text, body: (isJson ? JSON.parse(text) : {}) as Json };
}
