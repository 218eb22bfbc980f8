import { describe, expect, test } from 'vitest';
import { clientOptions } from './redis-options.js';

const of = (url: string, more: object = {}) => clientOptions({ url, commandTimeoutMs: 1000, ...more }, 'name');

describe('client options', () => {
  test('host, port and database come from the URL, credentials are decoded', () => {
    expect(of('redis://us%20er:p%40ss@redis.example:7000/2')).toMatchObject({
      host: 'redis.example',
      port: 7000,
      db: 2,
      username: 'us er',
      password: 'p@ss',
    });
    expect(of('redis://redis.example')).toMatchObject({ port: 6379, db: 0 });
    expect(of('redis://redis.example')).not.toHaveProperty('username');
    expect(of('redis://:secret@redis.example')).toMatchObject({ password: 'secret' });
  });

  test('an IPv6 address loses its brackets', () => {
    expect(of('redis://[::1]:6380')).toMatchObject({ host: '::1', port: 6380 });
  });

  test('rediss:// means TLS, with a server name unless it is an address', () => {
    expect(of('redis://redis.example').tls).toBeUndefined();
    expect(of('rediss://redis.example').tls).toEqual({ servername: 'redis.example' });
    expect(of('rediss://127.0.0.1').tls).toEqual({});
    expect(of('rediss://[::1]').tls).toEqual({});
    expect(of('rediss://127.0.0.1', { tlsAuthority: 'PEM' }).tls).toEqual({ ca: 'PEM' });
  });

  test('Sentinels are asked for the master by name, by TLS when the master is', () => {
    const sentinels = ['s1:26380', 's2'];
    const watched = { sentinels, sentinelMaster: 'main' };
    expect(of('redis://user:pw@ignored', watched)).toMatchObject({
      sentinels: [
        { host: 's1', port: 26380 },
        { host: 's2', port: 26379 },
      ],
      name: 'main',
      username: 'user',
    });
    expect(of('rediss://ignored', watched)).toMatchObject({ enableTLSForSentinelMode: true, sentinelTLS: {} });
    expect(of('redis://ignored', watched)).not.toHaveProperty('host');
  });

  test('nobody guesses which master the Sentinels are asked for', () => {
    expect(() => of('redis://ignored', { sentinels: ['s1'] })).toThrow('sentinelMaster');
  });

  test('Sentinels with a password of their own are told it, and it is not the master’s', () => {
    const askedBy = (url: string, ...sentinels: string[]) => of(url, { sentinels, sentinelMaster: 'main' });
    expect(askedBy('redis://user:pw@ignored', 'watch%40er:p%2Cw@s1:26380', '[::1]')).toMatchObject({
      sentinels: [
        { host: 's1', port: 26380 },
        { host: '::1', port: 26379 },
      ],
      ...{ sentinelUsername: 'watch@er', sentinelPassword: 'p,w', username: 'user', password: 'pw' },
    });
    expect(askedBy('redis://x', ':pw@s1')).toMatchObject({ sentinelPassword: 'pw' });
    expect(askedBy('redis://x', ':pw@s1')).not.toHaveProperty('sentinelUsername');
    expect(askedBy('redis://user:pw@x', 's1')).not.toHaveProperty('sentinelPassword');
  });

  test('nothing is queued, sent twice or subscribed behind our back', () => {
    expect(of('redis://x')).toMatchObject({
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      autoResubscribe: false,
      maxRetriesPerRequest: 0,
    });
  });
});
