import { type Reply, type Route, route } from '../http/router.js';
import { Refusal } from '../refusal.js';

export interface DemoOptions {
  /** Where the page opens its sockets; undefined: at its own host. */
  readonly gatewayWsUrl: string | undefined;
  /** Internal ports of replicas: any of them knows the whole fleet. */
  readonly replicaStatusUrls: readonly string[];
  readonly internalToken: string | undefined;
  /** Whoever can kill and restart replicas. */
  readonly controlUrl: string | undefined;
}

const timeoutMs = 2000;
/** A restart of a replica is answered when it is ready. */
const controlTimeoutMs = 30_000;
const maxControlBytes = 4096;
const notConfigured = new Refusal('not_found', 'this sandbox was started without it');

/** What the page needs to know beside the messenger: where the gateway is, how the fleet is, and the switches of the demo. */
export function demoRoutes(options: DemoOptions): Route[] {
  const control = (init: RequestInit): Promise<Reply | Refusal> | Refusal =>
    options.controlUrl === undefined
      ? notConfigured
      : forward(options.controlUrl, { ...init, signal: AbortSignal.timeout(controlTimeoutMs) });
  return [
    route('GET', '/demo/config', () => ({ body: { gateway_ws_url: options.gatewayWsUrl } })),
    route('GET', '/demo/replicas', () => readFleet(options)),
    route('GET', '/demo/control', () => control({})),
    route('POST', '/demo/control', async (request) => {
      const body = await request.readBytes(maxControlBytes);
      if (body instanceof Refusal) return body;
      return control({ method: 'POST', headers: { 'content-type': 'application/json' }, body: body.toString() });
    }),
  ];
}

async function readFleet({ replicaStatusUrls, internalToken }: DemoOptions): Promise<Reply | Refusal> {
  if (replicaStatusUrls.length === 0) return notConfigured;
  const headers: Record<string, string> = internalToken === undefined ? {} : { authorization: `Bearer ${internalToken}` };
  for (const url of replicaStatusUrls) {
    const reply = await forward(new URL('/internal/replicas', url).href, { headers, signal: AbortSignal.timeout(timeoutMs) });
    // Dead replicas are what the demo is about: the next one knows.
    if (!(reply instanceof Refusal) && reply.status === 200) return reply;
  }
  return new Refusal('upstream_unavailable', 'no replica answers');
}

async function forward(url: string, init: RequestInit): Promise<Reply | Refusal> {
  try {
    const response = await fetch(url, init);
    return {
      status: response.status,
      content: { type: 'application/json; charset=utf-8', bytes: Buffer.from(await response.arrayBuffer()) },
    };
  } catch (error) {
    // TypeError: refused or reset. DOMException: the time-out.
    if (error instanceof TypeError || error instanceof DOMException) return new Refusal('upstream_unavailable', 'nobody answers there');
    throw error;
  }
}
