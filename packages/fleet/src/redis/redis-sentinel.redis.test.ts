import { expect, test } from 'vitest';
import { eventually } from '../eventually.js';
import { startRedisSentinel } from './redis-sentinel.js';
import { startRedisServer } from './redis-server.js';
import { RespClient } from './resp-client.js';

test('a Sentinel promotes the replica of a killed master and names it', async () => {
  const master = await startRedisServer();
  const replica = await startRedisServer({ replicaOf: master.port });
  const sentinel = await startRedisSentinel({ masterPort: master.port });
  const client = await RespClient.connect({ port: sentinel.port });
  try {
    await eventually(async () => expect(await client.call('SENTINEL', 'REPLICAS', sentinel.masterName)).toHaveLength(1));
    await master.kill();
    await eventually(
      async () =>
        expect(await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', sentinel.masterName)).toEqual(['127.0.0.1', String(replica.port)]),
      { timeoutMs: 20_000 },
    );
    await eventually(async () => expect(await replica.call('SET', 'a', 'b')).toBe('OK'));
  } finally {
    client.close();
    await Promise.all([sentinel.stop(), replica.stop(), master.stop()]);
  }
});
