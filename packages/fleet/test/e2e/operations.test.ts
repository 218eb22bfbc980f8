import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, type Fleet, freePort, RespClient, startFleet } from '../../src/index.js';
import { inRepository } from '../../src/repository.js';
import { NodeService } from '../../src/services/node-service.js';

// What docs/operations.md tells an operator, held against a replica that runs as it says: under the ACL rules that it gives.

const runbook = readFileSync(inRepository('docs/operations.md'), 'utf8');
const admin = { name: 'admin', password: 'admin', rules: '~* &* +@all' };
const stream = 'messenger.events';
const group = 'gateway-gateway-1';

/** The rules of the runbook's user, without its name, state and password. */
const documentedRules = (/```acl\nuser gateway on >PASSWORD ([^`]+)```/.exec(runbook)?.[1] ?? '').split(/\s+/).join(' ').trim();

let fleet: Fleet;

beforeAll(async () => {
  const port = await freePort();
  fleet = await startFleet({
    replicas: 1,
    nginx: false,
    redis: { port, users: [admin, { name: 'gateway', password: 'secret', rules: documentedRules }] },
    env: {
      REDIS_URL: `redis://gateway:secret@127.0.0.1:${port}`,
      // Everything that happens seldom happens soon.
      ...{
        PRESENCE_GRACE_MS: '100',
        PRESENCE_LEASE_TTL_MS: '2000',
        PRESENCE_RENEW_MS: '500',
        HEARTBEAT_MS: '300',
        TYPING_INTERVAL_MS: '100',
      },
      ...{ GROUP_RETENTION_MS: '1000', REPLICA_LEASE_TTL_MS: '1000', GROUP_ON_STOP: 'destroy', DRAIN_WINDOW_MS: '100' },
    },
  });
});

afterAll(async () => fleet.stop());

const namesIn = (text: string, pattern: RegExp): string[] => [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].sort();

async function declaredMetrics(): Promise<string[]> {
  return namesIn((await fleet.replica(0).get('/metrics')).text, /^# TYPE (\S+)/gm);
}

describe('the runbook', () => {
  test('names every metric of the gateway that is on the page, and no other', async () => {
    const declared = await declaredMetrics();
    const described = namesIn(runbook, /\b((?:gateway|process|nodejs)_[a-z0-9_]+)/g);
    expect(declared.filter((name) => name.startsWith('gateway_') && !described.includes(name))).toEqual([]);
    expect(described.filter((name) => !declared.includes(name))).toEqual([]);
  });

  test('has a row for every metric of the gateway', async () => {
    const rows = namesIn(runbook, /^\| `(gateway_[a-z0-9_]+)` \|/gm);
    expect((await declaredMetrics()).filter((name) => name.startsWith('gateway_'))).toEqual(rows);
  });

  test('has every variable with its default and its meaning, as the process prints them', async () => {
    const printer = new NodeService({ home: fleet.home, name: 'printer', service: 'gateway', readyUrl: '', env: {} });
    printer.launch({}, ['--print-config']);
    await printer.exited;
    const printed = [...printer.log().matchAll(/^([A-Z][A-Z0-9_]+) .*?\((?:default )?(.*?)\) {2,}(.*)$/gm)].map(
      ([, name, value, about]) => `${name}: ${value === hostname() ? 'host name' : value}: ${about}`,
    );
    const [, table = ''] = runbook.split('All of them, as `--print-config` has them:');
    const documented = [...table.matchAll(/^\| `([A-Z0-9_]+)` \| (.*?) \| (.*?) \|$/gm)].map(
      ([, name, value, about = '']) => `${name}: ${value}: ${about.replaceAll('\\', '')}`,
    );
    expect(printed.length).toBeGreaterThan(50);
    expect(documented).toEqual(printed);
  });

  test('speaks of no variable that there is not', () => {
    const [prose = '', table = ''] = runbook.split('All of them, as `--print-config` has them:');
    const known = new Set([...namesIn(table, /^\| `([A-Z0-9_]+)` \|/gm), 'NODE_EXTRA_CA_CERTS']);
    const mentioned = namesIn(prose, /`([A-Z]+(?:_[A-Z]+)+)\b/g);
    expect(mentioned.length).toBeGreaterThan(20);
    expect(mentioned.filter((name) => !known.has(name))).toEqual([]);
  });

  test('says what to do about every alert, and about none that cannot fire', () => {
    const alerts = namesIn(readFileSync(inRepository('deploy/prometheus/rules.yml'), 'utf8'), /alert: (\w+)/g);
    expect(namesIn(runbook, /^\| `(Gateway[A-Za-z]+)` \|/gm)).toEqual(alerts);
  });

  test('explains every reason for not being ready', () => {
    const [, reasons = ''] =
      /reasons: \{.*enum: \[([^\]]+)\]/.exec(readFileSync(inRepository('packages/protocol/openapi.yaml'), 'utf8')) ?? [];
    const [, section = ''] = runbook.split('### Why a replica is not ready');
    const [table = ''] = section.split('\n## ');
    expect(namesIn(table, /^\| `(\w+)` \|/gm)).toEqual(reasons.split(', ').sort());
  });
});

test('a replica whose Redis user has the runbook’s rules is refused nothing, whatever happens to it', async () => {
  const replica = fleet.replica(0);
  const untilCounted = (sample: string): Promise<void> =>
    eventually(async () => expect((await replica.get('/metrics')).text).toContain(`${sample} 1\n`), { timeoutMs: 15_000 });
  const refused = async (): Promise<string[]> => [(await fleet.redis.call('ACL', 'LOG')) ?? []].flat(1).map(String);
  const publish = (seq: number): Promise<string> =>
    fleet.publish({
      type: 'message.new',
      conversation_id: 'c1',
      recipients: ['alice', 'bob'],
      payload: { id: `m${seq}`, seq, sender_id: 'bob' },
    });

  fleet.owners.direct('c1', 'alice', 'bob');
  const alice = await fleet.connect('alice', { replica });
  const bob = await fleet.connect('bob', { replica });
  const first = await publish(1);
  await fleet.publishFields('nothing', 'an envelope would be in');
  alice.send({ type: 'typing', conversation_id: 'c1' });
  alice.send({ type: 'sync', conversations: {} });
  await Promise.all([bob.waitFor('typing'), alice.waitFor('sync.complete')]);
  expect((await replica.get('/internal/presence?users=alice,bob')).text).not.toContain('unknown');
  expect((await replica.post('/internal/users/bob/disconnect', {})).status).toBe(202);
  await alice.waitFor('presence');
  expect(await fleet.redis.call('XLEN', `${stream}.dead`)).toBe(1);

  // A stranger's group is reaped, the own one is made anew, and a second connection under the reader's name is cut.
  await fleet.redis.call('XGROUP', 'CREATE', stream, 'gateway-ghost', '0');
  await eventually(async () => expect(String(await fleet.redis.call('XINFO', 'GROUPS', stream))).not.toContain('ghost'), {
    timeoutMs: 15_000,
  });
  const impostor = await RespClient.connect({ port: fleet.redis.port, tls: false, user: admin });
  await impostor.call('CLIENT', 'SETNAME', 'gateway.reader:gateway-1');
  await fleet.redis.call('XGROUP', 'DESTROY', stream, group);
  await untilCounted('gateway_stream_gaps_total{reason="group_lost"}');
  await fleet.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'USER', 'gateway');
  await eventually(() => expect(impostor.isOpen).toBe(false), { timeoutMs: 15_000 });

  // The tail of a process that has just started is read backwards from the stream.
  await replica.restart();
  await fleet.connect('alice', { replica, cursor: first });
  expect(await refused()).toEqual([]);

  await fleet.redis.restart({ keepData: false });
  await untilCounted('gateway_stream_gaps_total{reason="lost_writes"}');
  await fleet.untilHandled(await publish(2));
  expect(await replica.drain()).toEqual({ code: 0, signal: null });
  expect(await refused()).toEqual([]);
  expect(replica.log()).not.toContain('NOPERM');
});
