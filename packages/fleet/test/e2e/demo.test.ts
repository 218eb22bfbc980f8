import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../src/index.js';
import { isAlive } from '../../src/processes/is-alive.js';
import { inRepository } from '../../src/repository.js';

let temp: string;
let demo: ChildProcess;
let output: string;
let ended: Promise<number | null>;

beforeEach(() => {
  temp = mkdtempSync(join(tmpdir(), 'demo-test-'));
  output = '';
});

afterEach(async () => {
  demo.kill('SIGKILL');
  await ended;
  await eventually(() => expect(readdirSync(temp)).toEqual([])); // the reaper's last act
  rmSync(temp, { recursive: true });
});

function startDemo(...args: string[]): void {
  demo = spawn(process.execPath, [inRepository('packages/fleet/dist/demo.js'), ...args], { env: { ...process.env, TMPDIR: temp } });
  for (const stream of [demo.stdout, demo.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  ended = new Promise((resolve) => demo.once('exit', resolve));
}

async function untilSaid(pattern: RegExp): Promise<string> {
  return eventually(
    () => {
      const found = pattern.exec(output)?.[1];
      if (found === undefined) throw new Error(`not said yet: ${pattern}\n${output}`);
      return found;
    },
    { timeoutMs: 60_000 },
  );
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

/** As the page does: by way of nginx and the sandbox. */
function control(port: number, order?: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const method = order === undefined ? 'GET' : 'POST';
    const headers = { 'content-type': 'application/json' };
    const asked = request(
      { host: '127.0.0.1', port, path: '/demo/control', method, headers, rejectUnauthorized: false, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.once('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
      },
    );
    asked.once('error', reject);
    asked.end(order === undefined ? undefined : JSON.stringify(order));
  });
}

describe('npm run demo', () => {
  test('--check posts one message, sees it on both replicas, exits 0 and leaves nothing', async () => {
    startDemo('--check');
    expect(await ended).toBe(0);
    expect(output).toMatch(/gateway-1 → \w+: \{"type":"message.new"/);
    expect(output).toMatch(/gateway-2 → \w+: \{"type":"message.new"/);
    expect(readdirSync(temp)).toEqual([]);
  });

  test('Ctrl-C ends everything and leaves nothing', async () => {
    startDemo();
    await untilSaid(/(Ctrl-C)/);
    const redisPort = Number(await untilSaid(/redis:\/\/127.0.0.1:(\d+)/));
    // By its number, not its port: another demo on this machine may take the same port in the next moment.
    const [folder = ''] = readdirSync(temp);
    const nginx = Number(readFileSync(join(temp, folder, 'nginx/nginx.pid'), 'utf8'));
    expect([await isListening(redisPort), isAlive(nginx)]).toEqual([true, true]);
    demo.kill('SIGINT');
    expect(await ended).toBe(0);
    expect(readdirSync(temp)).toEqual([]);
    expect([await isListening(redisPort), isAlive(nginx)]).toEqual([false, false]);
  });

  test('its page may kill, freeze and restart replicas, and have the incident', async () => {
    startDemo();
    const port = Number(await untilSaid(/https:\/\/localhost:(\d+)/));
    await untilSaid(/(Ctrl-C)/);
    const states = async (order?: unknown): Promise<unknown> => {
      const { status, body } = await control(port, order);
      expect([status, body]).toEqual([200, body]);
      return Object.fromEntries((body['replicas'] as { id: string; state: string }[]).map(({ id, state }) => [id, state]));
    };
    const one = 'gateway-1';
    expect(await states()).toEqual({ 'gateway-1': 'running', 'gateway-2': 'running' });
    expect(await states({ action: 'kill', replica: one })).toEqual({ 'gateway-1': 'dead', 'gateway-2': 'running' });
    expect(await states({ action: 'restart', replica: one })).toEqual({ 'gateway-1': 'running', 'gateway-2': 'running' });
    expect(await states({ action: 'stop', replica: one })).toEqual({ 'gateway-1': 'stopped', 'gateway-2': 'running' });
    expect(await states({ action: 'continue', replica: one })).toEqual({ 'gateway-1': 'running', 'gateway-2': 'running' });
    expect((await control(port, { action: 'incident' })).body['incident']).toBe(true);
    expect((await control(port, { action: 'heal' })).body['incident']).toBe(false);
    expect(await control(port, null)).toMatchObject({ status: 400, body: { error: { code: 'unknown_action' } } });
    expect(await control(port, { action: 'kill', replica: 'nobody' })).toMatchObject({
      status: 404,
      body: { error: { code: 'unknown_replica' } },
    });
    expect(await control(port, { action: 'explode' })).toMatchObject({ status: 400, body: { error: { code: 'unknown_action' } } });
  }, 120_000);
});
