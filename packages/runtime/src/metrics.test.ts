import { beforeEach, describe, expect, test } from 'vitest';
import { Metrics } from './metrics.js';

let metrics: Metrics;

beforeEach(() => {
  metrics = new Metrics();
});

/** The page's lines about one series, without comments. */
async function page(name: string): Promise<string[]> {
  return (await metrics.text()).split('\n').filter((line) => line.startsWith(name));
}

describe('a counter', () => {
  test('with labels is on the page as 0 for every value before anything has happened: a rate over nothing alarms nobody', async () => {
    metrics.counter('closed_total', 'Closes.', { labels: { reason: ['slow', 'drain'], side: ['ours'] } });
    expect(await page('closed_total')).toEqual(['closed_total{reason="slow",side="ours"} 0', 'closed_total{reason="drain",side="ours"} 0']);
  });

  test('without labels is on the page as 0', async () => {
    metrics.counter('opened_total', 'Opens.');
    expect(await page('opened_total')).toEqual(['opened_total 0']);
  });

  test('counts by one, or by as many as it is told', async () => {
    const closed = metrics.counter('closed_total', 'Closes.', { labels: { reason: ['slow', 'drain'] } });
    closed.add(undefined, { reason: 'slow' });
    closed.add(3, { reason: 'slow' });
    expect(await page('closed_total')).toEqual(['closed_total{reason="slow"} 4', 'closed_total{reason="drain"} 0']);
  });
});

describe('a gauge', () => {
  test('shows the last value that it was given', async () => {
    const lag = metrics.gauge('lag', 'Lag.');
    lag.set(7);
    lag.set(2);
    expect(await page('lag')).toEqual(['lag 2']);
  });

  test('that has no value yet is declared, and not on the page', async () => {
    metrics.gauge('lag', 'Lag.');
    metrics.gauge('up', 'Up.', { labels: { connection: ['command', 'reader'] } });
    expect(await page('lag')).toEqual([]);
    expect(await page('up')).toEqual([]);
    expect(await metrics.text()).toContain('# TYPE lag gauge');
  });

  test('that is cleared is not on the page: unknown is not 0', async () => {
    const lag = metrics.gauge('lag', 'Lag.');
    lag.set(7);
    lag.clear();
    expect(await page('lag')).toEqual([]);
    lag.set(0);
    expect(await page('lag')).toEqual(['lag 0']);
  });

  test('that is cleared loses every labelled series', async () => {
    const up = metrics.gauge('up', 'Up.', { labels: { connection: ['command', 'reader'] } });
    up.set(1, { connection: 'command' });
    up.set(0, { connection: 'reader' });
    up.clear();
    expect(await page('up')).toEqual([]);
  });
});

describe('a histogram', () => {
  test('with labels is on the page as 0 for every value, and counts into its buckets', async () => {
    const took = metrics.histogram('took_seconds', 'Time.', { buckets: [0.1, 1], labels: { owner: ['a', 'b'] } });
    took.observe(0.5, { owner: 'a' });
    expect(await page('took_seconds_bucket')).toEqual([
      'took_seconds_bucket{le="0.1",owner="a"} 0',
      'took_seconds_bucket{le="1",owner="a"} 1',
      'took_seconds_bucket{le="+Inf",owner="a"} 1',
      'took_seconds_bucket{le="0.1",owner="b"} 0',
      'took_seconds_bucket{le="1",owner="b"} 0',
      'took_seconds_bucket{le="+Inf",owner="b"} 0',
    ]);
  });
});

describe('the page', () => {
  test('asks for what is read rather than counted, each time, and waits for it', async () => {
    const bytes = metrics.gauge('bytes', 'Bytes.');
    let held = 0;
    metrics.onScrape(async () => {
      await new Promise(setImmediate);
      bytes.set(++held);
    });
    expect(await page('bytes')).toEqual(['bytes 1']);
    expect(await page('bytes')).toEqual(['bytes 2']);
  });

  test('of one registry knows nothing of another', async () => {
    metrics.counter('opened_total', 'Opens.');
    expect(await new Metrics().text()).not.toContain('opened_total');
  });

  test('has the process metrics only when they are asked for', async () => {
    expect(await page('nodejs_eventloop_lag_seconds')).toEqual([]);
    metrics.collectProcessMetrics();
    expect(await page('nodejs_eventloop_lag_seconds')).not.toEqual([]);
    expect(await page('process_open_fds')).toEqual([expect.stringMatching(/^process_open_fds [1-9]\d*$/)]);
  });
});
