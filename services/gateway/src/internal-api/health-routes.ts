import { type Answer, json } from './answer.js';

/** What `GET /readyz` says. */
export interface ReadinessPort {
  report(): { readonly ready: boolean };
}

/** The page of `GET /metrics`. */
export interface MetricsPort {
  readonly contentType: string;
  text(): Promise<string>;
}

/** Alive is who answers at all. */
export function healthzRoute(): Answer {
  return json(200, { alive: true });
}

export function readyzRoute(readiness: ReadinessPort): () => Answer {
  return () => {
    const report = readiness.report();
    return json(report.ready ? 200 : 503, report);
  };
}

export function metricsRoute(metrics: MetricsPort): () => Promise<Answer> {
  return async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.text() });
}
