import { decodeRecipients, type UserId } from '@event-gateway/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { liveConnection, testContext } from '../../test/connections.js';
import { Hub, type LocalUser } from './hub.js';
import { RecipientMatcher } from './match-recipients.js';

function hubWith(userIds: readonly string[]): Hub {
  const hub = new Hub();
  const context = testContext();
  for (const userId of userIds) hub.add(liveConnection(context, userId).connection);
  return hub;
}

const names = (users: LocalUser[] | string): string | UserId[] => (typeof users === 'string' ? users : users.map(({ userId }) => userId));

test('the users who are here are found, each once and in order', () => {
  const matcher = new RecipientMatcher(hubWith(['u1', 'u2', 'u3']));
  expect(names(matcher.match(Buffer.from('["u3","nobody","u1","u3"]')))).toEqual(['u3', 'u1']);
  expect(names(matcher.match(Buffer.from('[]')))).toEqual([]);
});

test('an id with an escape, a space in the array, or ids beyond ASCII are found all the same', () => {
  const matcher = new RecipientMatcher(hubWith(['u1', 'Алиса', '__proto__']));
  expect(names(matcher.match(Buffer.from(String.raw`["\u0075\u0031"]`)))).toEqual(['u1']);
  expect(names(matcher.match(Buffer.from('[ "u1" ,"Алиса", "__proto__"]')))).toEqual(['u1', 'Алиса', '__proto__']);
});

test('ids with the same last eight bytes are told apart', () => {
  const matcher = new RecipientMatcher(hubWith(['left-00000001', 'right-00000001']));
  expect(names(matcher.match(Buffer.from('["left-00000001","other-00000001"]')))).toEqual(['left-00000001']);
});

test('a user who has left is not found any more', () => {
  const hub = new Hub();
  const { connection } = liveConnection(testContext(), 'u1');
  hub.add(connection);
  hub.remove(connection);
  expect(names(new RecipientMatcher(hub).match(Buffer.from('["u1"]')))).toEqual([]);
});

test('invalid UTF-8 is told apart from a bad list', () => {
  const matcher = new RecipientMatcher(hubWith(['u1']));
  expect(matcher.match(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]))).toBe('invalid_utf8');
  expect(matcher.match(Buffer.from('["u1"'))).toBe('recipients_invalid');
});

test('the scan of bytes never decides differently from the full decoder', () => {
  const here = ['u1', 'a', 'x'.repeat(128), 'id-12345678', 'Ж'];
  const hub = hubWith(here);
  const matcher = new RecipientMatcher(hub);
  const id = fc.oneof(fc.constantFrom(...here, '', 'y'.repeat(129), 'nobody', '"', '\\', '\u0001', '\u007f', '\ud800'), fc.string());
  const list = fc.array(fc.oneof(id, fc.integer(), fc.constant(null)), { maxLength: 6 }).map((value) => JSON.stringify(value));
  const damaged = fc.tuple(list, fc.nat(), fc.constantFrom('', ' ', '"', ',', '[', ']', '\\', '\t')).map(([text, at, piece]) => {
    const cut = text.length === 0 ? 0 : at % text.length;
    return text.slice(0, cut) + piece + text.slice(cut + 1);
  });
  fc.assert(
    fc.property(fc.oneof(list, damaged, fc.string()), (text) => {
      const bytes = Buffer.from(text);
      const slow = decodeRecipients(bytes);
      const expected = typeof slow === 'string' ? slow : [...new Set(slow)].filter((userId) => here.includes(userId));
      expect(names(matcher.match(bytes))).toEqual(expected);
    }),
    { numRuns: 3000 },
  );
});
