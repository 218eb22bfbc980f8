import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from '../../src/index.js';
import { upgradeRequest } from './upgrade-request.js';

/** Read at the pace of a thousand a second: this crowd keeps the door busy for some seconds. */
const size = 3000;
const perAddress = 200;

let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet({ replicas: 1, nginx: false, env: { UPGRADES_PER_SECOND: '100', UPGRADES_BURST: '100' } });
});

afterAll(async () => fleet.stop());

/** Knocks without a token. Resolves with the head of the answer. */
function knock(index: number, onWritten: () => void): Promise<string> {
  return new Promise((resolve) => {
    const localAddress = `127.0.0.${2 + Math.floor(index / perAddress)}`;
    const socket = connect({ port: fleet.replica(0).port, host: '127.0.0.1', localAddress }, () => {
      socket.write(upgradeRequest);
      onWritten();
    });
    socket.setEncoding('latin1').once('data', (head: string) => {
      resolve(head);
      socket.destroy();
    });
    socket.on('error', () => socket.destroy()).once('close', () => resolve(''));
  });
}

test('a crowd at the door is answered to the last one, and holds up nobody who is inside', async () => {
  const inside = await fleet.connect('alice', { replica: fleet.replica(0) });
  let written = 0;
  let answered = 0;
  const answers: Promise<string>[] = [];
  await new Promise<void>((resolve) => {
    for (let index = 0; index < size; index++) {
      const answer = knock(index, () => {
        if (++written === size) resolve();
      });
      void answer.then(() => answered++);
      answers.push(answer);
    }
  });
  for (let n = 1; n <= 5; n++) {
    await fleet.publish({ type: `note.${n}`, recipients: ['alice'] });
    await inside.waitFor(`note.${n}`);
  }
  expect(answered).toBeLessThan(size / 2);

  const heads = await Promise.all(answers);
  const refusals = heads.filter((head) => head.startsWith('HTTP/1.1 503 '));
  expect(heads.filter((head) => !head.startsWith('HTTP/1.1 503 ') && !head.startsWith('HTTP/1.1 401 '))).toEqual([]);
  expect(refusals.filter((head) => !/^retry-after: [1-9]\d*\r$/im.test(head))).toEqual([]);
  expect(refusals.length).toBeGreaterThan(size / 2);
  await inside.close();
});
