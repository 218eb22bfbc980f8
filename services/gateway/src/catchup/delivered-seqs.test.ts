import { type ConversationId, decodeEnvelope, type Envelope } from '@event-gateway/protocol';
import { describe, expect, test } from 'vitest';
import { DeliveredSeqs } from './delivered-seqs.js';

function event(conversationId: string, payload: string, type = 'message.new'): Envelope {
  const envelope = decodeEnvelope(Buffer.from(`{"type":"${type}","conversation_id":"${conversationId}","payload":${payload}}`), false);
  if (typeof envelope === 'string') throw new Error(envelope);
  return envelope;
}

function seqsOf(known: Record<string, number>): DeliveredSeqs {
  return new DeliveredSeqs(new Map(Object.entries(known) as [ConversationId, number][]));
}

const dialog = (id: string, lastSeq: number) => ({ conversationId: id as ConversationId, type: 'group' as const, lastSeq });

describe('after the last page', () => {
  test('every dialog is whole, also one that had nothing new, and one that the client did not know', () => {
    const seqs = seqsOf({ a: 5, b: 7 });
    for (const named of [dialog('a', 6), dialog('b', 7), dialog('c', 3)]) seqs.named(named);
    seqs.delivered(event('a', '{"seq":6}'));
    expect(Object.fromEntries(seqs.whole())).toEqual({ a: 6, b: 7, c: 3 });
  });

  test('a message that came in between the pages counts, one that only its number is known of does not', () => {
    const seqs = seqsOf({ a: 5, b: 5 });
    seqs.named(dialog('a', 6));
    seqs.named(dialog('b', 6));
    seqs.delivered(event('a', '{"seq":6}'));
    seqs.delivered(event('a', '{"seq":7}'));
    seqs.named(dialog('b', 8));
    expect(Object.fromEntries(seqs.whole())).toEqual({ a: 7, b: 6 });
  });

  test('a message that the messenger counted and did not send is not claimed', () => {
    const seqs = seqsOf({ a: 5 });
    seqs.named(dialog('a', 9));
    seqs.delivered(event('a', '{"seq":6}'));
    expect(Object.fromEntries(seqs.whole())).toEqual({ a: 6 });
  });

  test('a dialog that the messenger does not name is not claimed', () => {
    const seqs = seqsOf({ left: 9 });
    seqs.named(dialog('a', 1));
    expect(Object.fromEntries(seqs.whole())).toEqual({ a: 1 });
  });
});

describe('after a last page, when an event was lost', () => {
  test('a dialog is known up to the first seq that is missing, whichever dialog lost it', () => {
    const seqs = seqsOf({ a: 5, b: 5, quiet: 7 });
    for (const named of [dialog('a', 8), dialog('b', 7), dialog('c', 4), dialog('d', 9), dialog('quiet', 9)]) seqs.named(named);
    for (const [id, seq] of [
      ['a', 6],
      ['a', 8],
      ['b', 7],
      ['c', 3],
      ['c', 4],
    ] as const)
      seqs.delivered(event(id, `{"seq":${seq}}`));
    seqs.lost();
    expect(Object.fromEntries(seqs.whole())).toEqual({ a: 6, b: 5, c: 4, quiet: 7 });
  });
});

describe('with pages left', () => {
  test('what was lost is passed by: who starts again from these seqs would not get beyond it', () => {
    const seqs = seqsOf({ a: 5 });
    seqs.lost();
    seqs.delivered(event('a', '{"seq":7}'));
    expect(Object.fromEntries(seqs.soFar())).toEqual({ a: 7 });
  });

  test('only what was sent is claimed, and what the client has itself', () => {
    const seqs = seqsOf({ a: 5, b: 7 });
    for (const named of [dialog('a', 100), dialog('b', 100), dialog('c', 100), dialog('d', 100)]) seqs.named(named);
    seqs.delivered(event('a', '{"seq":6}'));
    seqs.delivered(event('c', '{"seq":50}'));
    expect(Object.fromEntries(seqs.soFar())).toEqual({ a: 6, b: 7, c: 50 });
  });
});

describe('what counts as a seq', () => {
  test.each([
    ['another type', event('a', '{"seq":9}', 'message.edited')],
    ['no seq', event('a', '{"n":9}')],
    ['a text', event('a', '{"seq":"9"}')],
    ['a fraction', event('a', '{"seq":9.5}')],
    ['too large to be exact', event('a', '{"seq":9007199254740993}')],
    ['null', event('a', '{"seq":null}')],
    ['one lower than before', event('a', '{"seq":2}')],
    ['a nested one', event('a', '{"seq":5,"quoted":{"seq":9}}')],
  ])('%s changes nothing', (_, envelope) => {
    const seqs = seqsOf({ a: 5 });
    seqs.delivered(envelope);
    expect(Object.fromEntries(seqs.soFar())).toEqual({ a: 5 });
  });

  test('of equal keys the last one counts, as in JSON.parse', () => {
    const seqs = seqsOf({});
    seqs.delivered(event('__proto__', '{"seq":1,"s\\u0065q":4}'));
    expect([...seqs.soFar()]).toEqual([['__proto__', 4]]);
  });
});
