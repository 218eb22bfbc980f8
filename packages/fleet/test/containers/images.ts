import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { inRepository } from '../../src/repository.js';
import { docker } from './docker.js';

export interface Images {
  readonly redis: string;
  readonly nginx: string;
  readonly gateway: string;
  readonly sandbox: string;
  /** What prepare.mjs laid out for nginx: mounted at /etc/nginx. */
  readonly nginxConfiguration: string;
}

const node = async (script: string): Promise<string> => (await promisify(execFile)(process.execPath, [inRepository(script)])).stdout;

/** Builds the services' images as a deployment does, on base images from the variables or, without those, from this machine's programs. */
export async function buildImages(env: Readonly<Record<string, string | undefined>>): Promise<Images> {
  const bases = new Map(
    [...(await node('deploy/docker/local-bases.mjs')).matchAll(/^(\w+)=(\S+)$/gm)].map(([, name = '', tag = '']) => [name, tag]),
  );
  const base = (variable: string): string => env[variable] ?? bases.get(variable) ?? '';
  await node('deploy/docker/prepare.mjs');
  const build = async (service: string): Promise<string> => {
    const tag = `event-gateway-test/${service}`;
    await docker(
      'build',
      '-q',
      '--build-arg',
      `NODE_IMAGE=${base('NODE_IMAGE')}`,
      '-t',
      tag,
      inRepository(`deploy/docker/dist/${service}`),
    );
    return tag;
  };
  return {
    redis: base('REDIS_IMAGE'),
    nginx: base('NGINX_IMAGE'),
    gateway: await build('gateway'),
    sandbox: await build('sandbox'),
    nginxConfiguration: inRepository('deploy/docker/dist/nginx'),
  };
}
