import { expect, test } from 'vitest';
import { Application } from '../../src/chaos/application.js';

function application(): { application: Application; complaints: string[] } {
  const complaints: string[] = [];
  return { application: new Application((complaint) => complaints.push(complaint)), complaints };
}

const expected = { lastSeqs: new Map([['c', 3]]), versions: new Map([['c#1', 2]]) };

test('an application that got everything once and in order has nothing to complain of, and misses nothing', () => {
  const { application: one, complaints } = application();
  for (const seq of [1, 2, 3]) one.message('c', seq);
  for (const version of [2, 1]) one.edited('c#1', version);
  expect(complaints).toEqual([]);
  expect(one.missing(expected)).toEqual([]);
});

test('a message that comes twice, too late or too early is complained of', () => {
  const { application: one, complaints } = application();
  for (const seq of [1, 1, 3, 2]) one.message('c', seq);
  expect(complaints).toEqual([
    'the application got c#1 after #1: twice, or out of order',
    'the application got c#3 right after #1',
    'the application got c#2 after #3: twice, or out of order',
  ]);
});

test('messages and edits that have not come are missing', () => {
  const { application: one } = application();
  for (const seq of [1, 3]) one.message('c', seq);
  one.edited('c#1', 1);
  expect(one.missing(expected)).toEqual(['c#2', 'edit 2 of c#1']);
});
