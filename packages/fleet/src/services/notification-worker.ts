import type { FleetHome } from '../processes/fleet-home.js';
import { MetricsPage } from '../tools/metrics-page.js';
import { type Environment, NodeService } from './node-service.js';

export interface NotificationWorkerOptions {
  readonly home: FleetHome;
  readonly id: string;
  readonly port: number;
  readonly redisUrl: string;
  /** Internal ports of the replicas that it asks who is online. */
  readonly gatewayUrls: readonly string[];
  /** Over what it is started with. */
  readonly env?: Environment;
}

/** One worker of the group that tells those who are offline. */
export class NotificationWorker extends NodeService {
  readonly url: string;

  constructor({ home, id, port, redisUrl, gatewayUrls, env }: NotificationWorkerOptions) {
    const url = `http://127.0.0.1:${port}`;
    super({
      home,
      name: id,
      service: 'notification-worker',
      readyUrl: `${url}/healthz`,
      env: { WORKER_ID: id, PORT: String(port), REDIS_URL: redisUrl, GATEWAY_URLS: gatewayUrls.join(','), ...env },
    });
    this.url = url;
  }

  async metrics(): Promise<MetricsPage> {
    return MetricsPage.scrape(`${this.url}/metrics`);
  }
}
