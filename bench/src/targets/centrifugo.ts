import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FleetHome, freePort, startRedisServer, type TokenIssuer } from '@event-gateway/fleet';
import { ServerProcess } from './server-process.js';
import type { Target } from './target.js';

/** The version of the `centrifugo` on the PATH; `undefined` when there is none. */
export function centrifugoVersion(): string | undefined {
  const { status, stdout } = spawnSync('centrifugo', ['version'], { encoding: 'utf8' });
  return status === 0 ? (/v\d[\w.-]*/.exec(stdout)?.[0] ?? 'unknown') : undefined;
}

/**
 * Centrifugo with its Redis engine, fed from a Redis Stream by its own consumer: an entry is the envelope and the personal channels
 * of its recipients.
 */
export async function startCentrifugo(home: FleetHome, issuer: TokenIssuer): Promise<Target> {
  const redis = await startRedisServer({ home, args: ['--client-output-buffer-limit', 'pubsub', '0', '0', '0'] });
  const port = await freePort();
  const name = `centrifugo-${port}`;
  const path = join(home.dir, `${name}.json`);
  writeFileSync(path, JSON.stringify(configOf(port, redis.url, issuer)));
  const server = new ServerProcess({ home, name, port, command: 'centrifugo', args: ['--config', path] });
  await server.untilListening();
  return { name: 'centrifugo', protocol: 'centrifugo', format: 'centrifugo', redis, servers: [server] };
}

function configOf(port: number, redisUrl: string, issuer: TokenIssuer): unknown {
  return {
    http_server: { address: '127.0.0.1', port },
    log: { level: 'warn' },
    usage_stats: { disabled: true },
    engine: { type: 'redis', redis: { address: [redisUrl] } },
    client: {
      token: { rsa_public_key: issuer.publicKeyPem },
      subscribe_to_user_personal_channel: { enabled: true, personal_channel_namespace: 'personal' },
      allowed_origins: ['*'],
    },
    channel: { namespaces: [{ name: 'personal' }] },
    consumers: [
      {
        name: 'events',
        enabled: true,
        type: 'redis_stream',
        redis_stream: {
          address: [redisUrl],
          streams: ['events'],
          consumer_group: 'centrifugo',
          // Several events at once let it pipeline its publications; with one worker, which would keep their order, it takes longer.
          num_workers: 16,
          publication_data_mode: { enabled: true, channels_value: 'channels' },
        },
      },
    ],
  };
}
