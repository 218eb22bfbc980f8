import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fleet, MetricsPage, startFleet } from '../../src/index.js';
import { inRepository } from '../../src/repository.js';

// Names that others build on: dashboards, alerts, autoscalers.
const contract = [
  ...['gateway_connections', 'gateway_users', 'gateway_connections_opened_total', 'gateway_connections_closed_total'],
  ...['gateway_upgrades_refused_total', 'gateway_stream_entries_total', 'gateway_stream_malformed_total', 'gateway_stream_lag_entries'],
  ...['gateway_stream_lag_seconds', 'gateway_stream_pending_entries', 'gateway_stream_gaps_total', 'gateway_canary_seconds'],
  ...['gateway_delivery_seconds', 'gateway_fanout_connections', 'gateway_frames_sent_total', 'gateway_frame_bytes_total'],
  ...['gateway_frames_dropped_total', 'gateway_card_lookups_total', 'gateway_card_fetch_seconds', 'gateway_owner_breaker_open'],
  ...['gateway_presence_leases', 'gateway_presence_online', 'gateway_presence_transitions_total', 'gateway_presence_renewals_total'],
  ...['gateway_typing_total', 'gateway_inbound_frames_total', 'gateway_resumes_total', 'gateway_syncs_total', 'gateway_sync_seconds'],
  ...['gateway_recent_events_bytes', 'gateway_redis_up', 'gateway_draining', 'gateway_build_info'],
  ...['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds'],
];

const promtool = ['/usr/bin/promtool', '/usr/local/bin/promtool', '/opt/homebrew/bin/promtool'].find((path) => existsSync(path));
const run = promisify(execFile);

let fleet: Fleet;
let page: string;
let declared: Set<string>;

beforeAll(async () => {
  fleet = await startFleet({ replicas: 1, nginx: false });
  fleet.owners.group('secret-group', ['secret-alice', 'secret-bob']);
  const client = await fleet.connect('secret-alice', { replica: fleet.replica(0) });
  const message = { id: 'm1', seq: 1, sender_id: 'secret-bob', text: 'x' };
  await fleet.publish({ type: 'message.new', conversation_id: 'secret-group', recipients: ['secret-alice'], payload: message });
  await client.waitFor('message.new');
  client.send({ type: 'typing', conversation_id: 'secret-group' });
  client.send({ type: 'sync', conversations: {} });
  await client.waitFor('sync.complete');
  page = (await fleet.replica(0).get('/metrics')).text;
  declared = new Set([...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));
});

afterAll(async () => fleet.stop());

/** Metrics that PromQL texts speak of; a histogram's series are those of its name. */
function namesIn(text: string): Set<string> {
  const names = [...text.matchAll(/\b((?:gateway|process|nodejs)_[a-z0-9_]+)/g)].map(([, name = '']) => name);
  return new Set(names.map((name) => name.replace(/_(bucket|sum|count)$/, '')));
}

describe('the metrics page', () => {
  test('has every name of the contract', () => {
    expect(contract.filter((name) => !declared.has(name))).toEqual([]);
  });

  test('names no user, conversation or token', () => {
    expect(page).not.toContain('secret-');
    expect(page).not.toContain('eyJ');
  });

  test.skipIf(promtool === undefined)('is accepted by promtool', async () => {
    const path = join(fleet.home.dir, 'metrics.txt');
    writeFileSync(path, page);
    const said = await run('sh', ['-c', `${promtool} check metrics < '${path}' 2>&1 || [ $? = 3 ]`]); // 3: it has read all and wishes something
    // The metrics library's own names of process metrics are not ours to change.
    expect(said.stdout.split('\n').filter((line) => !line.startsWith('nodejs_') && line !== '')).toEqual([]);
  });
});

describe('with FANOUT=pubsub', () => {
  let starter: Fleet;
  beforeAll(async () => {
    starter = await startFleet({ replicas: 1, nginx: false, env: { FANOUT: 'pubsub' } });
  });
  afterAll(async () => starter.stop());

  test('the page has every name too, and a value only where there is something to tell', async () => {
    const { text } = await starter.replica(0).get('/metrics');
    expect(contract.filter((name) => !text.includes(`# TYPE ${name} `))).toEqual([]);
    const figures = ['lag_entries', 'lag_seconds', 'pending_entries'].map((name) => `gateway_stream_${name}`);
    expect([...figures, 'gateway_canary_seconds'].filter((name) => new MetricsPage(text).value(name) !== undefined)).toEqual([]);
  });

  // A reader that does not exist was told as one that is down: the alert paged for ever.
  test('no connection to Redis is told as down', async () => {
    const samples = await starter.replica(0).metrics();
    expect(samples.labelValues('gateway_redis_up', 'connection')).toEqual(new Set(['command', 'subscriber']));
    for (const connection of ['command', 'subscriber']) expect(samples.value('gateway_redis_up', { connection })).toBe(1);
  });
});

describe('what is deployed beside it', () => {
  test('the dashboard asks only for metrics that exist', () => {
    const dashboard = JSON.parse(readFileSync(inRepository('deploy/grafana/event-gateway.json'), 'utf8'));
    const expressions = dashboard.panels.flatMap((panel: { targets?: { expr: string }[] }) =>
      (panel.targets ?? []).map(({ expr }) => expr),
    );
    expect(expressions.length).toBeGreaterThan(30);
    expect([...namesIn(expressions.join('\n'))].filter((name) => !declared.has(name))).toEqual([]);
  });

  test('the alerts watch only metrics that exist', () => {
    const rules = readFileSync(inRepository('deploy/prometheus/rules.yml'), 'utf8');
    expect([...namesIn(rules)].filter((name) => !declared.has(name))).toEqual([]);
  });

  test('label values that alerts and dashboard pick out exist', () => {
    const texts =
      readFileSync(inRepository('deploy/prometheus/rules.yml'), 'utf8') +
      readFileSync(inRepository('deploy/grafana/event-gateway.json'), 'utf8');
    const picked = [...texts.matchAll(/(gateway_\w+)\{[^}]*?\b(reason|outcome)(?:=~|=|!=)\\?"([^"\\]+)/g)];
    expect(picked.length).toBeGreaterThan(2);
    const samples = new MetricsPage(page);
    const missing = picked.flatMap(([, name = '', label = '', values = '']) =>
      values.split('|').filter((value) => samples.value(name, { [label]: value }) === undefined),
    );
    expect(missing).toEqual([]);
  });

  test.skipIf(promtool === undefined)('the alerts pass promtool’s check and their own tests', async () => {
    const cwd = inRepository('deploy/prometheus');
    await run(promtool ?? '', ['check', 'rules', 'rules.yml'], { cwd });
    const { stdout } = await run(promtool ?? '', ['test', 'rules', 'rules.test.yml'], { cwd });
    expect(stdout).toContain('SUCCESS');
  });
});
