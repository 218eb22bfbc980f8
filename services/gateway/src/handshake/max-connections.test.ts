import { describe, expect, test } from 'vitest';
import { maxConnectionsOf, readFdLimit } from './max-connections.js';

describe('maxConnectionsOf', () => {
  test.each([
    [20_000, 18_756],
    [1024, 729],
    [64, 1],
  ])('of %d file descriptors leaves room for what else is open: %d', (fds, max) => expect(maxConnectionsOf(fds)).toBe(max));
});

describe('readFdLimit', () => {
  test.runIf(process.platform === 'linux')('reads the limit of this process', () => {
    const fds = readFdLimit();
    expect(Number.isInteger(fds) && fds > 0).toBe(true);
  });

  test('a system that does not tell is taken for a modest one', () => {
    expect(readFdLimit('/nowhere')).toBe(8192);
  });
});
