import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

/** A process that says what happens to it; what goes wrong with it, and how long its drain takes, is in its environment. */
const program = `
import { createLogger, int, parseEnvironment, printEnvironment, Supervisor, systemClock, runProcess } from '${new URL('./index.ts', import.meta.url).href}';
const say = (line) => process.stdout.write(line + '\\n');
const variables = { DRAIN_MS: int({ default: 0, min: 0, about: 'how long a drain takes' }) };
const { FAULT } = process.env;
const fence = new AbortController();
const faults = {
  fenced: () => fence.abort(),
  thrown: () => { throw new Error('a bug'); },
  rejected: () => void Promise.reject(new Error('a bug')),
};
const part = (ms) => ({
  name: 'part',
  start: async () => {
    if (FAULT === 'no start') throw new Error('no start');
    if (FAULT === 'slow start') { say('starting'); await new Promise((resolve) => setTimeout(resolve, 50_000)); }
  },
  drain: async (deadlineMs) => { say('draining ' + Math.round(deadlineMs)); await systemClock.sleep(ms); say('drained'); },
  stop: () => say('stopped'),
});
await runProcess({
  parseConfig: () => parseEnvironment(process.env, variables),
  printConfig: () => printEnvironment(process.env, variables),
  compose: async (config) => {
    const logger = createLogger({ level: 'error' });
    return {
      supervisor: new Supervisor([part(config.DRAIN_MS)], systemClock, logger),
      logger,
      drainDeadlineMs: 50_000,
      onUp: () => { setInterval(() => undefined, 1000); setTimeout(faults[FAULT] ?? (() => undefined)); say('up'); },
      fencedOut: fence.signal,
    };
  },
});
`;

function run(env: Record<string, string> = {}, ...args: string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', program, '--', ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const said = async (line: string): Promise<void> => {
    for await (const [chunk] of events(child)) if (String(chunk).includes(line)) return;
  };
  return { child, exited, said, errors: text(child.stderr) };
}

async function* events(child: ReturnType<typeof spawn>): AsyncIterable<[unknown]> {
  while (child.stdout !== null) yield (await once(child.stdout, 'data')) as [unknown];
}

describe('a process', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('is drained and stopped by %s, and ends with 0', async (signal) => {
    const { child, exited, said } = run();
    await said('up');
    const rest = text(child.stdout);
    child.kill(signal);
    expect(await exited).toBe(0);
    // A part of its time is kept for stopping.
    expect(await rest).toBe('draining 46000\ndrained\nstopped\n');
  });

  test('does not wait for its drain when it is told a second time: it ends at once, with 1', async () => {
    const { child, exited, said } = run({ DRAIN_MS: '50000' });
    await said('up');
    child.kill('SIGTERM');
    await said('draining');
    const rest = text(child.stdout);
    child.kill('SIGTERM');
    expect(await exited).toBe(1);
    expect(await rest).toBe('');
  });

  test('that is told twice while it starts ends at once, with 1', async () => {
    const { child, exited, said } = run({ FAULT: 'slow start' });
    await said('starting');
    child.kill('SIGTERM');
    child.kill('SIGINT');
    expect(await exited).toBe(1);
  });

  test('with a wrong environment ends with 78 and says what is wrong', async () => {
    const { exited, errors } = run({ DRAIN_MS: 'soon' });
    expect(await exited).toBe(78);
    expect(await errors).toContain('DRAIN_MS must be a whole number');
  });

  test.each([
    ['that cannot start', 'no start', 'no start'],
    ['in which something is thrown that nobody catches', 'thrown', 'a bug'],
    ['in which something is rejected that nobody catches', 'rejected', 'a bug'],
  ])('%s ends with 1 and says why in its log, without a drain', async (_, fault, message) => {
    const { child, exited } = run({ FAULT: fault });
    const output = text(child.stdout);
    expect(await exited).toBe(1);
    const line: unknown = JSON.parse((await output).trim().split('\n').at(-1) ?? '');
    expect(line).toMatchObject({ level: 'error', msg: 'crashed', error: { message } });
    expect(await output).not.toContain('drain');
  });

  test('whose place another one has taken ends with 1, and lets go of nothing', async () => {
    const { child, exited } = run({ FAULT: 'fenced' });
    const output = text(child.stdout);
    expect(await exited).toBe(1);
    expect(await output).toBe('up\n');
  });

  test('only prints its configuration when that is asked for', async () => {
    const { child, exited } = run({ DRAIN_MS: '7' }, '--print-config');
    const printed = text(child.stdout);
    expect(await exited).toBe(0);
    expect(await printed).toMatch(/DRAIN_MS.*7/);
  });

  test('prints a wrong configuration too, says what is wrong with it, and ends with 78', async () => {
    const { child, exited, errors } = run({ DRAIN_MS: 'soon' }, '--print-config');
    const printed = text(child.stdout);
    expect(await exited).toBe(78);
    expect(await printed).toMatch(/DRAIN_MS.*soon/);
    expect(await errors).toContain('DRAIN_MS must be a whole number');
  });
});
