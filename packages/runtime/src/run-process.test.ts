import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

/** A process that says what happens to it, and whose drain takes as long as its environment says. */
const program = `
import { int, parseEnvironment, printEnvironment, silentLogger, Supervisor, systemClock, runProcess } from '${new URL('./index.ts', import.meta.url).href}';
const say = (line) => process.stdout.write(line + '\\n');
const variables = { DRAIN_MS: int({ default: 0, min: 0, about: 'how long a drain takes' }) };
const part = (ms) => ({
  name: 'part',
  start: () => (ms === 666 ? Promise.reject(new Error('no start')) : undefined),
  drain: async () => { say('draining'); await systemClock.sleep(ms); say('drained'); },
  stop: () => say('stopped'),
});
await runProcess({
  parseConfig: () => parseEnvironment(process.env, variables),
  printConfig: () => printEnvironment(process.env, variables),
  compose: (config) => ({
    supervisor: new Supervisor([part(config.DRAIN_MS)], systemClock, silentLogger),
    logger: silentLogger,
    onUp: () => { setInterval(() => undefined, 1000); say('up'); },
  }),
  drainDeadlineMs: 60_000,
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
    expect(await rest).toBe('draining\ndrained\nstopped\n');
  });

  test('does not wait for its drain when it is told a second time', async () => {
    const { child, exited, said } = run({ DRAIN_MS: '50000' });
    await said('up');
    child.kill('SIGTERM');
    await said('draining');
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
  });

  test('with a wrong environment ends with 78 and says what is wrong', async () => {
    const { exited, errors } = run({ DRAIN_MS: 'soon' });
    expect(await exited).toBe(78);
    expect(await errors).toContain('DRAIN_MS must be a whole number');
  });

  test('that cannot start ends with 1 and says why', async () => {
    const { exited, errors } = run({ DRAIN_MS: '666' });
    expect(await exited).toBe(1);
    expect(await errors).toContain('no start');
  });

  test('only prints its configuration when that is asked for', async () => {
    const { child, exited } = run({ DRAIN_MS: '7' }, '--print-config');
    const printed = text(child.stdout);
    expect(await exited).toBe(0);
    expect(await printed).toMatch(/DRAIN_MS.*7/);
  });
});
