import { expect, test } from 'vitest';
import { FakeClock } from '../test/fake-clock.js';
import { DEFAULT_TIMING } from './timing.js';
import { Timers } from './timers.js';
import { Typing } from './typing.js';

function started(): { clock: FakeClock; typing: Typing; heard: string[] } {
  const clock = new FakeClock();
  const timers = new Timers(clock);
  timers.open();
  const heard: string[] = [];
  const typing = new Typing({ clock, timers, timing: DEFAULT_TIMING, random: Math.random }, ({ conversation_id, user_id, active }) =>
    heard.push(`${conversation_id} ${user_id} ${active}`),
  );
  return { clock, typing, heard };
}
const frame = (conversation_id: string, user_id: string) => ({ type: 'typing', conversation_id, user_id, user_name: 'Name' }) as const;

test('one frame per dialog in two seconds', async () => {
  const { clock, typing } = started();
  expect([typing.mayTell('c1'), typing.mayTell('c1'), typing.mayTell('c2')]).toEqual([true, false, true]);
  await clock.advance(2_000);
  expect(typing.mayTell('c1')).toBe(true);
});

test('who says nothing more for three seconds has stopped', async () => {
  const { clock, typing, heard } = started();
  typing.heard(frame('c1', 'u2'));
  await clock.advance(2_999);
  expect(typing.in('c1')).toEqual([frame('c1', 'u2')]);
  await clock.advance(1);
  expect(typing.in('c1')).toEqual([]);
  expect(heard).toEqual(['c1 u2 true', 'c1 u2 false']);
});

test('who goes on typing is told once', async () => {
  const { clock, typing, heard } = started();
  for (let i = 0; i < 5; i++) {
    typing.heard(frame('c1', 'u2'));
    await clock.advance(2_000);
  }
  expect(heard).toEqual(['c1 u2 true']);
});

test('people and dialogs do not stop each other', async () => {
  const { clock, typing } = started();
  typing.heard(frame('c1', 'u2'));
  await clock.advance(2_000);
  typing.heard(frame('c1', 'u3'));
  typing.heard(frame('c2', 'u2'));
  await clock.advance(1_000);
  expect([typing.in('c1'), typing.in('c2')].map((frames) => frames.map(({ user_id }) => user_id))).toEqual([['u3'], ['u2']]);
});

test('stopping everything tells of each', () => {
  const { typing, heard } = started();
  typing.heard(frame('c1', 'u2'));
  typing.heard(frame('c2', 'u3'));
  typing.stopAll();
  expect(heard.slice(2)).toEqual(['c1 u2 false', 'c2 u3 false']);
});
