import { expect, test } from 'vitest';
import { hottestFunctions } from './hottest-functions.js';

const node = (id: number, functionName: string, url = '', lineNumber = 0) => ({ id, callFrame: { functionName, url, lineNumber } });

test('shares are of the time in which something ran, by function wherever it was called from', () => {
  const nodes = [
    node(1, '(idle)'),
    node(2, 'send', 'file:///x/dist/transport/uws-server.js', 9),
    node(3, 'send', 'file:///x/dist/transport/uws-server.js', 9),
    node(4, ''),
  ];
  const profile = { nodes, samples: [1, 2, 3, 4], timeDeltas: [5000, 1000, 2000, 1000] };
  expect(hottestFunctions(profile, 10)).toEqual([
    { name: 'send transport/uws-server.js:10', selfMs: 3, share: 0.75 },
    { name: '(anonymous)', selfMs: 1, share: 0.25 },
  ]);
});
