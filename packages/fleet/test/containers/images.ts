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

type Environment = Readonly<Record<string, string | undefined>>;

const node = async (script: string): Promise<string> => (await promisify(execFile)(process.execPath, [inRepository(script)])).stdout;

/** The base image that a variable names or, without it, one of this machine's programs. */
export async function buildBase(variable: 'NODE_IMAGE' | 'REDIS_IMAGE' | 'NGINX_IMAGE', env: Environment): Promise<string> {
  const named = env[variable];
  if (named !== undefined) return named;
  const tag = new RegExp(`^${variable}=(\\S+)$`, 'm').exec(await node('deploy/docker/local-bases.mjs'))?.[1];
  if (tag === undefined) throw new Error(`no base image for ${variable}`);
  return tag;
}

/** Builds the services' images as a deployment does. */
export async function buildImages(env: Environment): Promise<Images> {
  const base = await buildBase('NODE_IMAGE', env);
  await node('deploy/docker/prepare.mjs');
  const build = async (service: string): Promise<string> => {
    const tag = `event-gateway-test/${service}`;
    await docker('build', '-q', '--build-arg', `NODE_IMAGE=${base}`, '-t', tag, inRepository(`deploy/docker/dist/${service}`));
    return tag;
  };
  return {
    redis: await buildBase('REDIS_IMAGE', env),
    nginx: await buildBase('NGINX_IMAGE', env),
    gateway: await build('gateway'),
    sandbox: await build('sandbox'),
    nginxConfiguration: inRepository('deploy/docker/dist/nginx'),
  };
}
