import { keys } from '@event-gateway/redis';
import { ConfigError } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { configWarnings, describeConfig, raiseHeaderLimit, readConfig, transportOptions } from './config.js';

beforeEach(() => {
  for (const name of ['JWKS_URL', 'USER_SERVICE_URL', 'MESSENGER_URL']) vi.stubEnv(name, 'http://owner');
  vi.stubEnv('REPLICA_ID', 'r1');
});
afterEach(() => vi.unstubAllEnvs());

describe('the id of a replica', () => {
  test('is never the one whose group all replicas share in the incident', () => {
    expect(keys.group('shared')).toBe(keys.sharedGroup);
    vi.stubEnv('REPLICA_ID', 'shared');
    expect(readConfig).toThrow(ConfigError);
    expect(readConfig).toThrow('REPLICA_ID must be 1 to 64 of A-Z a-z 0-9 . _ -, and not the reserved "shared"');
  });

  test.each(['shared-1', 'unshared', 'Shared', 'gateway_1.eu', 'x'.repeat(64)])('may be %s', (id) => {
    vi.stubEnv('REPLICA_ID', id);
    expect(readConfig().REPLICA_ID).toBe(id);
  });

  test.each(['a b', 'a:b', 'ä', 'x'.repeat(65)])('may not be "%s": it is part of keys and of a label', (id) => {
    vi.stubEnv('REPLICA_ID', id);
    expect(readConfig).toThrow(ConfigError);
  });
});

describe('a configuration that is legal but unwise is warned of', () => {
  const warnings = (environment: Record<string, string>): string[] => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    return configWarnings(readConfig());
  };

  test('not by default', () => {
    expect(warnings({})).toEqual([]);
  });

  test.each([{ HEARTBEAT_MS: '20001' }, { PRESENCE_RENEW_MS: '20001' }, { PRESENCE_LEASE_TTL_MS: '59999' }])(
    'when a lease may end between two renewals: %o',
    (environment) => {
      expect(warnings(environment)).toEqual([expect.stringContaining('presence can flap')]);
    },
  );

  test('when a drain may outlast the grace', () => {
    expect(warnings({ RECONNECT_JITTER_MS: '7500' })).toEqual([expect.stringContaining('a drain can show users offline')]);
  });

  test('when the closes of a drain would leave no time for what follows them', () => {
    expect(warnings({ DRAIN_WINDOW_MS: '10000', DRAIN_DEADLINE_MS: '10000' })).toEqual([
      'DRAIN_WINDOW_MS does not fit into DRAIN_DEADLINE_MS: closes are spread over 7200 ms',
    ]);
    expect(warnings({ DRAIN_WINDOW_MS: '7000', DRAIN_DEADLINE_MS: '10000' })).toEqual([]);
  });

  test('when all replicas share one group', () => {
    expect(warnings({ UNSAFE_SHARED_GROUP: '1' })).toEqual([expect.stringContaining('UNSAFE_SHARED_GROUP')]);
  });
});

describe('the Sentinels', () => {
  test.each(['a', 'a:26379', 's-1.example:26379, 10.0.0.1:26379', '[::1]:26379,[2001:DB8::1]', 'user:pw@a:1,b:1', ':p%2Cw@a'])(
    'may be %s',
    (text) => {
      vi.stubEnv('REDIS_SENTINELS', text);
      vi.stubEnv('REDIS_SENTINEL_MASTER', 'main');
      expect(readConfig().REDIS_SENTINELS).toEqual(text.split(',').map((item) => item.trim()));
    },
  );

  test.each(['a,,b', 'a:99999', 'a:x', 'a/b', 'redis://a:1', 'hunter2:@', ':hun/ter2@a'])('may not be %s', (text) => {
    vi.stubEnv('REDIS_SENTINELS', text);
    expect(readConfig).toThrow('REDIS_SENTINELS must be host:port or user:password@host:port separated by commas');
    expect(readConfig).not.toThrow('ter2');
  });
});

describe('what nobody can have meant is refused', () => {
  const set = (environment: Record<string, string>): void => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  };

  test('all of it at once', () => {
    set({ REDIS_SENTINELS: 'a:1', PORT: '9090', REDIS_URL: 'redis://x/abc', ALLOWED_ORIGINS: 'https://chat.example/' });
    expect(readConfig).toThrow(ConfigError);
    for (const name of ['REDIS_SENTINEL_MASTER', 'INTERNAL_PORT', 'REDIS_URL', 'ALLOWED_ORIGINS']) expect(readConfig).toThrow(`- ${name} `);
  });

  test('Sentinels without the name of the master', () => {
    set({ REDIS_SENTINELS: 'a:1' });
    expect(readConfig).toThrow('REDIS_SENTINEL_MASTER is required with REDIS_SENTINELS');
  });

  test('a master without Sentinels: it would be ignored, and REDIS_URL asked instead', () => {
    set({ REDIS_SENTINEL_MASTER: 'main' });
    expect(readConfig).toThrow('REDIS_SENTINELS is required with REDIS_SENTINEL_MASTER');
    set({ REDIS_SENTINELS: 'a:99999' });
    expect(readConfig).not.toThrow('is required with');
  });

  test.each(['INTERNAL_TOKEN', 'OWNER_TOKEN'])('a %s that no header can hold', (name) => {
    set({ [name]: 'two words' });
    expect(readConfig).toThrow(`${name} must be visible ASCII characters without a space`);
    expect(readConfig).not.toThrow('two words');
  });

  test.each(['redis://x/abc', 'redis://x/1/2', 'redis://x/-1', 'rediss://x/0a'])('a database that is no number: %s', (text) => {
    set({ REDIS_URL: text });
    expect(readConfig).toThrow('REDIS_URL must be a URL whose path, if any, is the number of a database');
  });

  test.each(['redis://x', 'redis://x/', 'rediss://user:pw@x:1/12'])('a database is not needed: %s', (text) => {
    set({ REDIS_URL: text });
    expect(readConfig().REDIS_URL).toBe(text);
  });

  test.each([
    'https://chat.example/',
    'https://chat.example/app',
    'chat.example',
    'chat.example:8080',
    'https://Chat.example',
    'HTTPS://chat.example',
    'https://chat.example:443',
    'https://bücher.example',
    'https://user@chat.example',
    'https://*.chat.example',
    'capacitor://localhost/',
    'file://',
    '*',
    'https://a.example,,https://b.example',
  ])('an origin that no browser sends: %s', (text) => {
    set({ ALLOWED_ORIGINS: text });
    expect(readConfig).toThrow('ALLOWED_ORIGINS must be origins as browsers send them (https://chat.example: lower case, no path');
  });

  test.each([
    'https://chat.example',
    'http://localhost:3000',
    'https://xn--bcher-kva.example',
    'http://[::1]:1',
    'capacitor://localhost',
    'null',
  ])('an origin that one does: %s', (text) => {
    set({ ALLOWED_ORIGINS: `https://a.example, ${text}` });
    expect(readConfig().ALLOWED_ORIGINS).toEqual(['https://a.example', text]);
  });

  test.each<Record<string, string>>([
    { PORT: '9090' },
    { PORT: '1234', INTERNAL_PORT: '1234' },
    { PORT: '1234', INTERNAL_PORT: '1234', HOST: '10.0.0.1' },
    { PORT: '1234', INTERNAL_PORT: '1234', HOST: '127.0.0.1', INTERNAL_HOST: '127.0.0.1' },
    { PORT: '1234', INTERNAL_PORT: '1234', HOST: '10.0.0.1', INTERNAL_HOST: '::' },
  ])('one port for both: %o', (environment) => {
    set(environment);
    expect(readConfig).toThrow(`INTERNAL_PORT must be another one than PORT, not ${environment['PORT']} as well`);
  });

  test.each<Record<string, string>>([
    { PORT: '0', INTERNAL_PORT: '0' },
    { PORT: '1234', INTERNAL_PORT: '1234', HOST: '10.0.0.1', INTERNAL_HOST: '127.0.0.1' },
  ])('but the system may choose both, and two addresses have ports of their own: %o', (environment) => {
    set(environment);
    expect(readConfig().PORT).toBe(Number(environment['PORT']));
  });
});

test('the table of the configuration has no token and no password', () => {
  vi.stubEnv('INTERNAL_TOKEN', 'hunter2');
  vi.stubEnv('OWNER_TOKEN', 'hunter2');
  vi.stubEnv('REDIS_URL', 'rediss://user:hunter2@redis:6379');
  vi.stubEnv('REDIS_SENTINELS', 'user:hunter2@a:26379,b:26379');
  expect(describeConfig()).toContain('rediss://user:***@redis:6379');
  expect(describeConfig()).not.toContain('hunter2');
});

test('the transport does not cut a silent client before the heartbeat can tell it why', () => {
  for (const heartbeatMs of [100, 1000, 2000, 2500, 3000, 4000, 5000, 20_000, 60_000, 300_000]) {
    vi.stubEnv('HEARTBEAT_MS', String(heartbeatMs));
    const { idleTimeoutS } = transportOptions(readConfig());
    // It counts in whole ticks of 4 s, and the first may be as good as over.
    expect(1000 * (idleTimeoutS - 4)).toBeGreaterThan(2.5 * heartbeatMs + 1000);
    expect([idleTimeoutS % 4, idleTimeoutS >= 8]).toEqual([0, true]);
  }
});

test("the transport's limit of headers is ours, not one more variable that is read", () => {
  vi.stubEnv('UWS_HTTP_MAX_HEADERS_SIZE', '100');
  raiseHeaderLimit();
  expect(process.env['UWS_HTTP_MAX_HEADERS_SIZE']).toBe('16384');
});
