import { closeSync, openSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { countOpenFds } from './open-fds.js';

const opened: number[] = [];
afterEach(() => {
  for (const fd of opened.splice(0)) closeSync(fd);
});

const count = 500;

// The second has the same entries and, on every kernel, no size.
test.each(['/proc/self/fd', '/proc/self/fdinfo'])('each open descriptor counts: %s', async (folder) => {
  const before = (await countOpenFds(folder)) ?? Number.NaN;
  for (let n = 0; n < count; n++) opened.push(openSync('/dev/null', 'r'));
  const after = (await countOpenFds(folder)) ?? Number.NaN;
  // Others open and close some meanwhile.
  expect(Math.abs(after - before - count)).toBeLessThan(count / 10);
});

test('what cannot be told is not zero', async () => {
  expect(await countOpenFds('/proc/self/no-such-folder')).toBeUndefined();
});
