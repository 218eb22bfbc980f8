import { type Route, route } from '../http/router.js';
import type { OutboxStore } from '../store/outbox-store.js';

/** Alive, and how much the bus has yet to be told: more than a few for longer than a moment means that Redis is away. */
export function healthRoutes(outbox: OutboxStore): Route[] {
  return [route('GET', '/healthz', () => ({ body: { ok: true, outbox_unsent: outbox.unsentCount() } }))];
}
