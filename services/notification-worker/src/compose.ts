import { RedisConnections } from '@event-gateway/redis';
import { type Clock, type Component, type Logger, Metrics, Supervisor } from '@event-gateway/runtime';
import type { WorkerConfig } from './config.js';
import { PresenceClient } from './presence-client.js';
import { PushLedger } from './push-ledger.js';
import { LogSink } from './sinks/log-sink.js';
import { WebhookSink } from './sinks/webhook-sink.js';
import { StatusServer } from './status-server.js';
import { WorkQueue } from './work-queue.js';
import { Worker } from './worker.js';
import { WorkerMetrics } from './worker-metrics.js';

/** The one place that knows what the worker is made of. */
export function composeWorker(config: WorkerConfig, clock: Clock, logger: Logger): { supervisor: Supervisor; status: StatusServer } {
  const registry = new Metrics();
  registry.collectProcessMetrics();
  const metrics = new WorkerMetrics(registry);

  const redis = new RedisConnections({ url: config.REDIS_URL, commandTimeoutMs: config.REDIS_COMMAND_TIMEOUT_MS }, clock, logger);
  const queue = new WorkQueue(redis.command, () => redis.newReader('notifications.reader'), clock, {
    stream: config.EVENT_STREAM,
    group: config.GROUP,
    worker: config.WORKER_ID,
    batchEntries: config.READ_BATCH_ENTRIES,
    blockMs: config.READ_BLOCK_MS,
    claimIdleMs: config.CLAIM_IDLE_MS,
  });
  const presence = new PresenceClient(
    { urls: config.GATEWAY_URLS, token: config.INTERNAL_TOKEN, timeoutMs: config.PRESENCE_TIMEOUT_MS },
    metrics,
    clock,
    logger,
  );
  const ledger = new PushLedger(redis.command, config.PUSH_MEMORY_MS);
  const sink =
    config.PUSH_WEBHOOK_URL === undefined ? new LogSink(logger) : new WebhookSink(config.PUSH_WEBHOOK_URL, config.PUSH_TIMEOUT_MS);
  const worker = new Worker(
    { queue, presence, ledger, sink, metrics, clock, logger },
    { group: config.GROUP, maxAgeMs: config.PUSH_MAX_AGE_MS, concurrency: config.PUSH_CONCURRENCY },
  );

  const connections: Component = { name: 'redis', start: () => redis.start(), stop: () => redis.stop() };
  const status = new StatusServer(registry, config.HOST, config.PORT);
  return { status, supervisor: new Supervisor([status, connections, worker], clock, logger) };
}
