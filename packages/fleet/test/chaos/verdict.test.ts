import { expect, test } from 'vitest';
import type { AuditCounts } from '../../src/chaos/frame-audit.js';
import { planSchedule } from '../../src/chaos/schedule.js';
import { complainOfNeedlessSyncs, describeVerdict, type Verdict } from '../../src/chaos/verdict.js';

const counts = (fields: Partial<AuditCounts> = {}): AuditCounts => ({
  ...{ durable: 10, synced: 0, hellos: 3, resumed: 0, told: new Map(), syncs: 3, closes: new Map() },
  ...fields,
});
const verdict = (fields: Partial<Verdict> = {}): Verdict => ({
  ...{ schedule: { ...planSchedule(7), faults: [] }, complaints: [], wholeAfterMs: 1234, messages: 5, retries: 0, heldUpMs: 20 },
  ...{ counts: counts() },
  ...fields,
});

test('where nothing can have been lost, nobody is told so and nobody asks the messenger', () => {
  const gentle = planSchedule(5);
  expect(complainOfNeedlessSyncs(gentle, counts(), 3)).toEqual([]);
  expect(complainOfNeedlessSyncs(gentle, counts({ syncs: 5, told: new Map([['gap', 2]]) }), 3)).toEqual([
    'sync.required (gap) 2 times, although nothing can have been lost',
    '2 syncs, although nothing can have been lost',
  ]);
  expect(complainOfNeedlessSyncs(planSchedule(1), counts({ syncs: 5, told: new Map([['gap', 2]]) }), 3)).toEqual([]);
});

test('a verdict is read at a glance, with every complaint up to a limit', () => {
  expect(describeVerdict(verdict())).toEqual([
    'seed 7 (single): held, whole 1.2 s after the last fault and the last message',
    '  0 faults, 5 messages (0 published again), 10 live frames, 0 synced',
    '  3 connections, 0 resumed, 3 syncs; told: nobody; closed: none',
  ]);
  const complaints = Array.from({ length: 100 }, (_, index) => `complaint ${index}`);
  const lines = describeVerdict(verdict({ complaints, wholeAfterMs: undefined, heldUpMs: 900 }));
  expect(lines[0]).toBe('seed 7 (single): FAILED, never whole');
  expect(lines).toContain('  the machine was busy: this process was held up for 900 ms at a time');
  expect(lines.at(-1)).toBe('  ! and 60 more');
  const alike = ['user-1/0: the same', 'user-2/1: the same', 'user-3/0: another'];
  expect(describeVerdict(verdict({ complaints: alike })).slice(3)).toEqual(['  ! user-1/0 and 1 more: the same', '  ! user-3/0: another']);
});
