import { describe, expect, test } from 'vitest';
import { FrameAudit } from '../../src/chaos/frame-audit.js';

type Frame = Readonly<Record<string, unknown>>;

/** A client on one connection whose first sync is over: nothing is owed, and it has #1 and #2 of c. */
function auditedClient(): {
  audit: FrameAudit;
  complaints: string[];
  open: (cursor?: string) => void;
  get: (...frames: Frame[]) => void;
  ask: (frame?: Frame) => void;
} {
  const complaints: string[] = [];
  const audit = new FrameAudit((complaint) => complaints.push(complaint));
  const open = (cursor?: string): void => audit.opening(`ws://host/api/v1/ws?token=t${cursor === undefined ? '' : `&cursor=${cursor}`}`);
  const get = (...frames: Frame[]): void => {
    for (const frame of frames) audit.received(JSON.stringify(frame));
  };
  const ask = (frame: Frame = {}): void => audit.sent(JSON.stringify({ type: 'sync', conversations: {}, ...frame }));
  open();
  get(hello('1-0'));
  ask();
  get(synced(1), synced(2), complete({ c: 2 }));
  return { audit, complaints, open, get, ask };
}

const hello = (cursor: string, resumed = false): Frame => ({
  ...{ type: 'hello', connection_id: 'x', replica_id: 'r1', user_id: 'u', heartbeat_ms: 1000 },
  ...{ resumed, cursor },
});
const synced = (seq: number): Frame => ({ type: 'message.new', conversation_id: 'c', message: { id: `m${seq}`, seq } });
const live = (seq: number, cursor: string): Frame => ({ ...synced(seq), cursor });
const told = (cursor: string, reason = 'gap'): Frame => ({ type: 'sync.required', reason, cursor, after_ms: 0 });
const complete = (conversations: Frame, fields: Frame = {}): Frame => ({
  ...{ type: 'sync.complete', conversations, presence: [], has_more: false, cursor: '1-0' },
  ...fields,
});

describe('nothing to complain about', () => {
  test('messages that come in order', () => {
    const { audit, complaints, get } = auditedClient();
    get(live(3, '3-0'), live(4, '4-0'));
    expect(complaints).toEqual([]);
    expect(audit.isOwing).toBe(false);
    expect(audit.counts).toMatchObject({ durable: 2, synced: 2, hellos: 1, resumed: 0, syncs: 1 });
  });

  test('a hole that was announced before the first frame from behind it, and filled by a sync', () => {
    const { audit, complaints, get, ask } = auditedClient();
    get(told('5-0'), live(5, '6-0'));
    expect(audit.isOwing).toBe(true);
    ask();
    get(synced(3), synced(4), synced(5), complete({ c: 5 }), live(6, '7-0'));
    expect(audit.isOwing).toBe(false);
    expect(complaints).toEqual([]);
  });

  test('a stream that began anew: sync.required takes the cursor down', () => {
    const { complaints, get, ask } = auditedClient();
    get(live(3, '900-0'), told('0-0'), live(4, '5-0'));
    ask();
    get(complete({ c: 4 }));
    expect(complaints).toEqual([]);
  });

  test('a resume that goes on where the client was; what it got twice in the stream counts once', () => {
    const { complaints, open, get } = auditedClient();
    get(live(3, '3-0'));
    open('3-0');
    get(hello('3-0', true), live(3, '4-0'), live(4, '5-0'));
    expect(complaints).toEqual([]);
  });

  test('a refused cursor that is followed by sync.required', () => {
    const { complaints, open, get, ask } = auditedClient();
    open('1-5');
    get(hello('8-0'), told('8-0', 'cursor_unknown'), live(9, '9-0'));
    ask();
    get(complete({ c: 9 }));
    expect(complaints).toEqual([]);
  });

  test('a sync in pages, and one that was asked again before it was answered', () => {
    const { audit, complaints, get, ask } = auditedClient();
    get(told('5-0'));
    ask({ ref: '1' });
    ask({ ref: '2' });
    get(synced(3), complete({ c: 3 }, { ref: '1', has_more: true, next: 'p' }));
    ask({ ref: '3', next: 'p' });
    get(synced(4), complete({ c: 4 }, { ref: '3' }));
    expect(audit.isOwing).toBe(false);
    get(synced(3), synced(4), complete({ c: 4 }, { ref: '2' }));
    expect(complaints).toEqual([]);
  });
});

describe('complained of', () => {
  test('a hole that nobody announced', () => {
    const { complaints, get } = auditedClient();
    get(live(4, '4-0'), live(5, '5-0'));
    expect(complaints).toEqual(['c#4 came after #2, and nobody had announced a hole (on r1)']);
  });

  test('a hole that was announced after the first frame from behind it', () => {
    const { complaints, get } = auditedClient();
    get(live(4, '4-0'), told('4-0'));
    expect(complaints).toHaveLength(1);
  });

  test('a resume that leaves something out', () => {
    const { complaints, open, get } = auditedClient();
    open('2-0');
    get(hello('2-0', true), live(4, '4-0'));
    expect(complaints).toEqual(['c#4 came after #2, and nobody had announced a hole (on r1)']);
  });

  test('a cursor that goes back, stays, or lies below what a pong has named', () => {
    const { complaints, get } = auditedClient();
    get(live(3, '3-0'), live(4, '3-0'));
    get({ type: 'pong', cursor: '7-0' }, live(5, '6-0'));
    expect(complaints).toEqual(['the cursor 3-0 after 3-0 (on r1)', 'the cursor 6-0 after 7-0 (on r1)']);
  });

  test('a resume from somewhere else', () => {
    const { complaints, open, get } = auditedClient();
    open('2-0');
    get(hello('5-0', true));
    expect(complaints).toEqual(['resumed from 5-0 instead of 2-0 (on r1)']);
  });

  test('a refused cursor of which nothing is said', () => {
    const { complaints, open, get } = auditedClient();
    open('1-5');
    get(hello('8-0'), live(3, '9-0'));
    expect(complaints).toEqual(['an event (9-0) although the cursor 1-5 was refused and nothing was said (on r1)']);
  });

  test('a sync that was asked before the hole opened and ends the debt of it', () => {
    const { audit, get, ask } = auditedClient();
    get(told('5-0'));
    ask();
    get(told('6-0'), complete({ c: 4 }));
    expect(audit.isOwing).toBe(true);
  });

  test('a sync that ends with a hole in it', () => {
    const { complaints, get, ask } = auditedClient();
    get(told('5-0'), live(5, '6-0'));
    ask();
    get(synced(3), complete({ c: 3 }));
    expect(complaints).toEqual(['a sync has ended and c#4 has not come, #5 has (on r1)']);
  });

  test('frames of a sync that nobody asked for, frames before the hello, and what is no frame', () => {
    const { audit, complaints, open, get } = auditedClient();
    get(synced(3));
    open('2-0');
    get({ type: 'pong' });
    audit.received('{"type":');
    expect(complaints).toEqual([
      'a synced frame that nobody has asked for (on r1)',
      'pong before hello (on r1)',
      'a frame that is none: {"type": (on r1)',
    ]);
  });
});
