import { FakeClock, silentLogger } from '@event-gateway/runtime';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TokenSigner } from '../../test/token-signer.js';
import { JwksKeys, type KeyLookup } from './jwks-keys.js';
import { JwksUnavailableError } from './jwks-source.js';

const first = new TokenSigner('first');
const second = new TokenSigner('second');
const cooldownMs = 30_000;

/** An issuer whose endpoint can fail, and can keep a request waiting. */
class Issuer {
  keys: object[] = [first.jwk()];
  isDown = false;
  requests = 0;
  #held: (() => void)[] | undefined;

  readonly fetchJwks = async (): Promise<unknown> => {
    this.requests++;
    const answer = this.isDown ? undefined : { keys: this.keys };
    if (this.#held !== undefined) await new Promise<void>((resolve) => this.#held?.push(resolve));
    if (answer === undefined) throw new JwksUnavailableError('down');
    return answer;
  };

  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const resume of held) resume();
  }
}

let clock: FakeClock;
let issuer: Issuer;
let keys: JwksKeys;
beforeEach(() => {
  clock = new FakeClock();
  issuer = new Issuer();
  keys = new JwksKeys({ fetchJwks: issuer.fetchJwks, clock, logger: silentLogger }, { jwksCooldownMs: cooldownMs });
});
afterEach(() => keys.stop());

async function find(kid: string): Promise<KeyLookup> {
  return keys.find(kid);
}

async function started(): Promise<void> {
  keys.start();
  await vi.waitFor(() => expect(keys.isLoaded).toBe(true), { interval: 1 });
}

/** Moves time until the condition holds: imports of keys run beside the fake clock. */
async function advanceUntil(ms: number, condition: () => boolean): Promise<void> {
  await clock.advance(ms);
  await vi.waitFor(() => expect(condition()).toBe(true), { interval: 1 });
}

describe('the first set', () => {
  test('is fetched again and again, backing off, until it comes', async () => {
    issuer.isDown = true;
    keys.start();
    await clock.advance(60_000);
    expect(keys.isLoaded).toBe(false);
    expect(issuer.requests).toBeGreaterThan(25); // at most 2 s apart
    expect(issuer.requests).toBeLessThan(150);
    issuer.isDown = false;
    await advanceUntil(2000, () => keys.isLoaded);
  });

  test('without it every key is unavailable, and nobody asks besides the one that is asking', async () => {
    issuer.isDown = true;
    keys.start();
    await clock.advance(0);
    for (let i = 0; i < 100; i++) expect(await find(`k${i}`)).toBe('unavailable');
    expect(issuer.requests).toBe(1);
  });

  test('an empty or useless set does not count as one', async () => {
    issuer.keys = [];
    keys.start();
    await clock.advance(10_000);
    expect(keys.isLoaded).toBe(false);
  });

  test('a second start does not fetch twice', async () => {
    await started();
    keys.start();
    await clock.advance(0);
    expect(issuer.requests).toBe(1);
  });

  test('a stop ends the retries', async () => {
    issuer.isDown = true;
    keys.start();
    await clock.advance(1000);
    keys.stop();
    const { requests } = issuer;
    await clock.advance(60_000);
    expect(issuer.requests).toBe(requests);
  });
});

describe('an unknown kid', () => {
  test('brings a rotation just after the start: the boot fetch starts no cooldown', async () => {
    await started();
    issuer.keys = [first.jwk(), second.jwk()];
    expect(await find('second')).toMatchObject({ kid: 'second' });
    expect(issuer.requests).toBe(2);
  });

  test('costs at most one request per cooldown, however many there are and however they differ', async () => {
    await started();
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => find(`unknown-${round}-${i}`)));
      expect(new Set(answers)).toEqual(new Set(['unknown']));
      for (let i = 0; i < 100; i++) expect(await find(`again-${round}-${i}`)).toBe('unknown');
      expect(issuer.requests).toBe(2 + round);
      await clock.advance(cooldownMs);
    }
  });

  test('that all ask for at once shares one request and its answer', async () => {
    await started();
    issuer.keys = [second.jwk()];
    issuer.hold();
    const answers = Promise.all(Array.from({ length: 50 }, () => find('second')));
    await clock.advance(0);
    issuer.release();
    expect(new Set((await answers).map((key) => (typeof key === 'string' ? key : key.kid)))).toEqual(new Set(['second']));
    expect(issuer.requests).toBe(2);
  });

  test('a rotation within the cooldown is accepted as soon as it is over', async () => {
    await started();
    await find('nonsense');
    issuer.keys = [second.jwk()];
    expect(await find('second')).toBe('unknown');
    await clock.advance(cooldownMs);
    expect(await find('second')).toMatchObject({ kid: 'second' });
  });

  test('is unavailable, not unknown, while the endpoint fails, and this costs one request per cooldown too', async () => {
    await started();
    issuer.isDown = true;
    for (let i = 0; i < 50; i++) expect(await find('second')).toBe('unavailable');
    expect(issuer.requests).toBe(2);
    issuer.isDown = false;
    issuer.keys = [second.jwk()];
    await clock.advance(cooldownMs);
    expect(await find('second')).toMatchObject({ kid: 'second' });
  });

  test('is unknown again once the endpoint has answered', async () => {
    await started();
    issuer.isDown = true;
    expect(await find('nonsense')).toBe('unavailable');
    issuer.isDown = false;
    await clock.advance(cooldownMs);
    expect(await find('nonsense')).toBe('unknown');
    expect(await find('other nonsense')).toBe('unknown');
  });

  test('arriving during a regular refresh waits for it and then asks by itself', async () => {
    await started();
    issuer.hold();
    await clock.advance(300_000); // the regular one reads the old set
    issuer.keys = [second.jwk()];
    const answers = [find('second'), find('second')];
    await clock.advance(0);
    issuer.release();
    for (const answer of await Promise.all(answers)) expect(answer).toMatchObject({ kid: 'second' });
    expect(issuer.requests).toBe(3);
  });
});

describe('known keys', () => {
  test('are found for ever while the endpoint is down', async () => {
    await started();
    issuer.isDown = true;
    await clock.advance(30 * 86_400_000);
    expect(keys.find('first')).toMatchObject({ kid: 'first' });
    expect(keys.isLoaded).toBe(true);
  });

  test('survive a set without a usable key: that is a fault of the endpoint', async () => {
    await started();
    issuer.keys = [];
    expect(await find('other')).toBe('unavailable');
    expect(keys.find('first')).toMatchObject({ kid: 'first' });
  });

  test('are gone once a newer set no longer has them', async () => {
    await started();
    issuer.keys = [second.jwk()];
    await find('second');
    expect(await find('first')).toBe('unknown');
  });

  test('that are withdrawn without a successor are refused within five minutes', async () => {
    await started();
    issuer.keys = [first.jwk(), second.jwk()];
    await find('second');
    issuer.keys = [second.jwk()];
    expect(keys.find('first')).toMatchObject({ kid: 'first' });
    await clock.advance(300_000);
    await vi.waitFor(async () => expect(await find('first')).toBe('unknown'), { interval: 1 });
  });
});
