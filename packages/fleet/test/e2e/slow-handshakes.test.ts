import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from '../../src/index.js';

/** The transport gives a request 10 s and looks every few seconds; nginx gives its head 10 s. */
const cutAfterMs = 16_000;
const perKind = 50;
const begun = 'GET /api/v1/ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nX-Slow: ';

let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet({ replicas: 1 });
});

afterAll(async () => fleet.stop());

interface Slow {
  readonly lastedMs: number;
  readonly answer: string;
}

/** A request that never ends: `bytes` at once, and then one more every `everyMs`. Resolves when it is cut. */
function dawdle(isNginx: boolean, bytes: string, everyMs: number | undefined): Promise<Slow> {
  const startedMs = performance.now();
  return new Promise((resolve) => {
    const port = isNginx ? fleet.nginx.port : fleet.replica(0).port;
    const socket = isNginx ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1');
    let answer = '';
    socket.write(bytes);
    const trickle = everyMs === undefined ? undefined : setInterval(() => socket.write('a'), everyMs);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      clearInterval(trickle);
      resolve({ lastedMs: performance.now() - startedMs, answer });
    });
  });
}

test('handshakes that never end are cut, however steadily their bytes come, and cost nobody else anything', async () => {
  let areCut = false;
  const slow = Promise.all(
    [false, true].flatMap((isNginx) =>
      Array.from({ length: perKind }, () => [
        dawdle(isNginx, '', undefined),
        dawdle(isNginx, begun, undefined),
        dawdle(isNginx, begun, 500),
      ]).flat(),
    ),
  ).finally(() => {
    areCut = true;
  });
  const waitsMs: number[] = [];
  while (!areCut) {
    for (const to of [{}, { replica: fleet.replica(0) }]) {
      const startedMs = performance.now();
      const client = await fleet.connect('alice', to);
      await fleet.publish({ type: 'note', recipients: ['alice'] });
      await client.waitFor('note');
      waitsMs.push(performance.now() - startedMs);
      await client.close();
    }
    await Promise.race([slow, sleep(1000)]);
  }
  const ended = await slow;
  expect(ended).toHaveLength(6 * perKind);
  expect(Math.max(...ended.map(({ lastedMs }) => lastedMs))).toBeLessThan(cutAfterMs);
  expect(new Set(ended.map(({ answer }) => answer.split('\r\n')[0]))).toEqual(new Set(['']));
  expect(waitsMs.length).toBeGreaterThan(10);
  expect(Math.max(...waitsMs)).toBeLessThan(3000);
  expect((await fleet.replica(0).metrics()).value('gateway_connections')).toBe(0);
});
