// Every step runs, whatever the ones before it said; only a failed set-up ends the run at once, since nothing could stand on it.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { ensureCommand } from './apt.mjs';
import { ensureDocker } from './docker.mjs';

const root = dirname(import.meta.dirname);
const reports = mkdtempSync(join(tmpdir(), 'event-gateway-ci-'));
const total = { passed: 0, failed: 0 };
const lines = [];

function run(command, args) {
  return spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0;
}

function record(name, passed, failed, startedMs) {
  total.passed += passed;
  total.failed += failed;
  lines.push(`${name}: ${passed} passed, ${failed} failed, ${Math.round((performance.now() - startedMs) / 1000)} s`);
}

/** One command is one check. */
function check(name, command, args) {
  console.log(`\n── ${name}`);
  const startedMs = performance.now();
  const ok = run(command, args);
  record(name, ok ? 1 : 0, ok ? 0 : 1, startedMs);
  return ok;
}

/** A vitest run; a file that fails before its first test counts as one failure. */
function suite(name, script) {
  console.log(`\n── ${name}`);
  const startedMs = performance.now();
  const report = join(reports, `${name}.json`);
  const ok = run('npm', ['run', script, '--', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]);
  if (!existsSync(report)) return record(name, 0, 1, startedMs);
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
  record(name, numPassedTests, ok ? numFailedTests : Math.max(1, numFailedTests), startedMs);
  lines.push(...testResults.filter((file) => file.status === 'failed').flatMap(failuresOf));
}

/** Repeated beside the counts, since a log of this length is read from its end. */
function failuresOf(file) {
  const path = relative(root, file.name);
  const failed = file.assertionResults.filter((test) => test.status === 'failed');
  if (failed.length === 0) return [`  FAILED ${path}: ${file.message.slice(0, 2_000)}`];
  return failed.map((test) => `  FAILED ${path} > ${test.fullName}: ${test.failureMessages.join('\n').slice(0, 2_000)}`);
}

const scripts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts;

if (check('set-up', process.execPath, ['packages/fleet/bin/setup.mjs'])) {
  for (const [command, packageName] of [
    ['promtool', 'prometheus'],
    ['chromium', 'chromium'],
  ]) {
    if (!ensureCommand(command, packageName))
      lines.push(`tests that need ${command}: SKIPPED, it is not here and apt-get could not install it`);
  }
  suite('tests', 'test');
  for (const name of Object.keys(scripts).filter((script) => script.startsWith('check:'))) check(name, 'npm', ['run', '--silent', name]);
  check('demo', 'npm', ['run', '--silent', 'demo', '--', '--check']);
  if ('bench:smoke' in scripts) check('bench', 'npm', ['run', '--silent', 'bench:smoke']);
  const docker = await ensureDocker();
  if (docker.isUp) suite('containers', 'test:containers');
  else lines.push(`containers: SKIPPED, ${docker.why}`);
  docker.stop();
}

rmSync(reports, { recursive: true });
console.log(`\n${lines.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);
