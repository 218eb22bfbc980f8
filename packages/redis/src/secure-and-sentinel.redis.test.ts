import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Logger, silentLogger, systemClock } from '@event-gateway/runtime';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually, TestRedis } from '../test/redis-server.js';
import { RedisConnections } from './redis-connections.js';
import type { RedisOptions } from './redis-options.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function server(args: readonly string[]): Promise<TestRedis> {
  const redis = await TestRedis.start(args);
  cleanups.push(() => redis.stop());
  return redis;
}

function connect(options: Omit<RedisOptions, 'commandTimeoutMs'>, logger: Logger = silentLogger): RedisConnections {
  const connections = new RedisConnections({ commandTimeoutMs: 500, ...options }, systemClock, logger);
  cleanups.push(() => connections.stop());
  connections.start();
  return connections;
}

/** All three kinds of connection do their work. */
async function expectToWork(connections: RedisConnections): Promise<void> {
  const messages: string[] = [];
  connections.subscriber.subscribe('channel', (text) => messages.push(text));
  await connections.subscriber.whenSubscribed();
  await eventually(() => connections.command.isUp);
  const reader = connections.newReader('gateway.reader:test');
  await reader.open();
  await connections.command.call('XADD', 'stream', '*', 'a', 'b');
  const [length] = await reader.run([['XLEN', 'stream']]);
  expect(length).toBeGreaterThan(0);
  await eventually(async () => {
    await connections.command.call('PUBLISH', 'channel', 'hello');
    return messages.includes('hello');
  });
}

function recordingLogger(): { lines: string[]; logger: Logger } {
  const lines: string[] = [];
  const take = (fields: object, message: string): void => void lines.push(message + JSON.stringify(fields, replaceError));
  const logger: Logger = { debug: take, info: take, warn: take, error: take, child: () => logger };
  return { lines, logger };
}

function replaceError(_key: string, value: unknown): unknown {
  return value instanceof Error ? { message: value.message, cause: value.cause } : value;
}

describe('TLS and ACL', () => {
  async function secureServer(): Promise<{ url: (user: string, password: string) => string; authority: string }> {
    const redis = await TestRedis.prepare();
    cleanups.push(() => redis.stop());
    const [key, certificate] = [join(redis.dir, 'key.pem'), join(redis.dir, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', certificate, ...subject],
      {
        stdio: 'ignore',
      },
    );
    const tls = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no'];
    const users = ['--user', 'gateway', 'on', '>s3cret/with@signs', '~*', '&*', '+@all', '--user', 'default', 'off'];
    await redis.run(['--save', '', '--port', '0', '--tls-port', '{port}', ...tls, ...users]);
    return {
      url: (user, password) => `rediss://${user}:${encodeURIComponent(password)}@127.0.0.1:${redis.port}`,
      authority: readFileSync(certificate, 'utf8'),
    };
  }

  test('a server with TLS and an ACL user serves all three kinds of connection', async () => {
    const { url, authority } = await secureServer();
    await expectToWork(connect({ url: url('gateway', 's3cret/with@signs'), tlsAuthority: authority }));
  });

  test('a certificate that nobody vouches for is refused', async () => {
    const { url } = await secureServer();
    const { lines, logger } = recordingLogger();
    const connections = connect({ url: url('gateway', 's3cret/with@signs') }, logger);
    await eventually(() => lines.some((line) => line.includes('self-signed certificate')));
    expect(connections.isUp('command')).toBe(false);
  });

  test('a wrong password is told by the server’s word, and never written to the log', async () => {
    const { url, authority } = await secureServer();
    const { lines, logger } = recordingLogger();
    const connections = connect({ url: url('gateway', 'wr0ng'), tlsAuthority: authority }, logger);
    await eventually(() => lines.some((line) => line.includes('WRONGPASS')));
    await expect(connections.newReader('r').open()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    expect(connections.isUp('command')).toBe(false);
    expect(lines.join()).not.toContain('wr0ng');
  });
});

test('a database number in the URL is understood', async () => {
  const redis = await server(['--save', '']);
  const connections = connect({ url: `${redis.url}/3` });
  await eventually(() => connections.command.isUp);
  await connections.command.call('SET', 'where', 'three');
  expect(String(await connections.command.call('INFO', 'keyspace'))).toContain('db3:keys=1');
});

test('a Sentinel with a password of its own is asked with that, not with the master’s, and no log has it', async () => {
  const master = await server(['--save', '', '--requirepass', 'masters']);
  const sentinel = await TestRedis.prepare();
  cleanups.push(() => sentinel.stop());
  const configuration = join(sentinel.dir, 'sentinel.conf');
  const settings = [`sentinel monitor main 127.0.0.1 ${master.port} 1`, 'sentinel auth-pass main masters', 'requirepass sentinels'];
  writeFileSync(configuration, [`port ${sentinel.port}`, ...settings].join('\n'));
  await sentinel.run([configuration, '--sentinel']);
  const at = `127.0.0.1:${sentinel.port}`;
  const url = 'redis://:masters@ignored';

  await expectToWork(connect({ url, sentinels: [`:sentinels@${at}`], sentinelMaster: 'main' }));
  const { lines, logger } = recordingLogger();
  for (const sentinels of [[at], [`:wr0ng@${at}`]]) {
    const refused = connect({ url, sentinels, sentinelMaster: 'main' }, logger);
    await expect(refused.newReader('r').open()).rejects.toMatchObject({ code: 'REDIS_UNAVAILABLE' });
    expect(refused.isUp('command')).toBe(false);
  }
  await eventually(() => lines.length > 0);
  expect(lines.join()).not.toMatch(/wr0ng|masters/);
});

test('with Sentinel, all connections find the master and follow a failover', async () => {
  const master = await server(['--save', '']);
  const replica = await server(['--save', '', '--replicaof', `127.0.0.1 ${master.port}`, '--repl-diskless-sync-delay', '0']);
  const sentinel = await TestRedis.prepare();
  cleanups.push(() => sentinel.stop());
  const configuration = join(sentinel.dir, 'sentinel.conf');
  const settings = [`monitor main 127.0.0.1 ${master.port} 1`, 'down-after-milliseconds main 500', 'failover-timeout main 2000'];
  writeFileSync(configuration, [`port ${sentinel.port}`, ...settings.map((line) => `sentinel ${line}`)].join('\n'));
  await sentinel.run([configuration, '--sentinel']);

  const connections = connect({ url: 'redis://ignored:1', sentinels: [`127.0.0.1:${sentinel.port}`], sentinelMaster: 'main' });
  await expectToWork(connections);
  expect(String(await connections.command.call('INFO', 'server'))).toContain(`tcp_port:${master.port}`);
  // The replica must be known to Sentinel and in sync before it can be promoted.
  await eventually(async () => String(await connections.command.call('INFO', 'replication')).includes('state=online'));
  const ask = connect({ url: `redis://127.0.0.1:${sentinel.port}` });
  await eventually(() => ask.command.isUp);
  await eventually(
    async () => JSON.stringify(await ask.command.call('SENTINEL', 'REPLICAS', 'main')).includes(String(replica.port)),
    20_000,
  );

  let reconnects = 0;
  connections.subscriber.onReconnected(() => reconnects++);
  await master.kill();
  await eventually(() => connections.command.isUp && String(reconnects) !== '0', 20_000);
  expect(String(await connections.command.call('INFO', 'server'))).toContain(`tcp_port:${replica.port}`);
  await expectToWork(connections);
});
