import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { granted, TestMessenger } from '../../test/test-messenger.js';
import { Refusal } from '../refusal.js';
import type { Sync } from './sync.js';

let messenger: TestMessenger;

beforeEach(() => {
  messenger = new TestMessenger();
  messenger.addUsers('a', 'b', 'c');
  messenger.conversations.createGroup('a', { title: 'Group', avatarUrl: undefined, memberIds: ['b'] }, 'g');
  messenger.conversations.openDirect('a', 'b', 'd');
});

afterEach(() => messenger.close());

interface SyncedEvent {
  readonly type: string;
  readonly event_id: string;
  readonly conversation_id: string;
  readonly payload: {
    id?: string;
    message_id?: string;
    seq?: number;
    text?: string;
    emoji?: string;
    user_id?: string;
    deleted_at?: string;
    title?: string;
  };
}

interface Answer {
  readonly conversations: { conversation_id: string; last_seq: number; peer_id?: string; title?: string }[];
  readonly events: SyncedEvent[];
  readonly next_page?: string;
}

interface Known {
  readonly lastSeqs?: Record<string, number>;
  readonly sinceMs?: number;
}

/** What the gateway does: follows the pages to their end. */
function syncAll(sync: Sync, userId: string, known: Known = {}): Answer & { pages: number } {
  let answer = sync.begin({ userId, lastSeqs: new Map(Object.entries(known.lastSeqs ?? {})), sinceMs: known.sinceMs }) as Answer;
  const events = [...answer.events];
  let pages = 1;
  for (; answer.next_page !== undefined; pages++) {
    answer = granted(sync.resume(userId, answer.next_page)) as Answer;
    events.push(...answer.events);
  }
  return { conversations: answer.conversations, events, pages };
}

const seqsOf = (answer: { events: SyncedEvent[] }, conversation: string): number[] =>
  answer.events.filter((e) => e.type === 'message.new' && e.conversation_id === conversation).map((e) => e.payload.seq ?? 0);
const typesOf = (answer: { events: SyncedEvent[] }): string[] => answer.events.map((e) => e.type);

test('all dialogs of the user are listed, also those without news, and nobody else’s', () => {
  messenger.conversations.openDirect('b', 'c', 'secret');
  messenger.post('a', 'g', 2);
  expect(syncAll(messenger.sync(), 'a', { lastSeqs: { g: 2, d: 0, secret: 0 } })).toMatchObject({
    conversations: [
      { conversation_id: 'd', type: 'direct', peer_id: 'b', last_seq: 0 },
      { conversation_id: 'g', type: 'group', title: 'Group', last_seq: 2 },
    ],
    events: [],
  });
});

test('a known conversation starts above the client’s seq, an unknown one from a recent window', () => {
  messenger.post('b', 'g', 10);
  messenger.post('b', 'd', 10);
  const answer = syncAll(messenger.sync({ windowMessages: 3 }), 'a', { lastSeqs: { g: 4 } });
  expect(seqsOf(answer, 'g')).toEqual([5, 6, 7, 8, 9, 10]);
  expect(seqsOf(answer, 'd')).toEqual([8, 9, 10]);
});

test('of an unknown conversation nothing older than the window comes, no change to it either', () => {
  const [old = '', ...newer] = messenger.post('b', 'g', 4);
  messenger.messages.react('b', 'g', old, 'x');
  messenger.messages.react('b', 'g', newer[2] ?? '', 'x');
  messenger.conversations.update('b', 'g', { title: 'New' });
  expect(typesOf(syncAll(messenger.sync({ windowMessages: 1 }), 'a', { sinceMs: 0 }))).toEqual(['message.new', 'reaction.added']);
});

test('a client that claims more than there is gets nothing and no error', () => {
  messenger.post('b', 'g', 2);
  expect(syncAll(messenger.sync(), 'a', { lastSeqs: { g: 99, d: 99 } })).toMatchObject({
    events: [],
    conversations: [{ last_seq: 0 }, { last_seq: 2 }],
  });
});

test('a message that was edited meanwhile comes as it is now', () => {
  const [id = ''] = messenger.post('b', 'g');
  messenger.messages.edit('b', 'g', id, 'better');
  const [first] = syncAll(messenger.sync(), 'a').events;
  expect(first).toMatchObject({ type: 'message.new', payload: { text: 'better', edited_at: expect.any(String) } });
});

test('a deleted message keeps its seq, and neither it nor its edits say what it said', () => {
  const [id = ''] = messenger.post('b', 'g');
  messenger.messages.edit('b', 'g', id, 'a secret');
  messenger.messages.react('a', 'g', id, 'x');
  messenger.messages.delete('b', 'g', id);
  const answer = syncAll(messenger.sync(), 'a', { lastSeqs: { g: 0 }, sinceMs: 0 });
  expect(typesOf(answer)).toEqual(['message.new', 'message.deleted']);
  expect(answer.events[0]?.payload).toMatchObject({ seq: 1, text: '', deleted_at: expect.any(String) });
  expect(JSON.stringify(answer)).not.toContain('secret');
});

describe('changes to messages that the client has', () => {
  test('come since its time, and not before', async () => {
    const [old = '', newer = ''] = messenger.post('b', 'g', 2);
    messenger.messages.edit('b', 'g', old, 'long ago');
    await messenger.clock.advance(1000);
    const sinceMs = messenger.clock.wallMs();
    messenger.messages.edit('b', 'g', newer, 'just now');
    messenger.receipts.acknowledge('b', 'g', 'read', 2);
    messenger.conversations.update('b', 'g', { title: 'New title' });
    const answer = syncAll(messenger.sync(), 'a', { lastSeqs: { g: 2 }, sinceMs });
    expect(typesOf(answer)).toEqual(['message.edited', 'receipt.read', 'conversation.updated']);
    expect(answer.events[0]?.payload).toMatchObject({ id: newer, text: 'just now' });
  });

  test('do not come without a time', () => {
    const [id = ''] = messenger.post('b', 'g');
    messenger.messages.edit('b', 'g', id, 'x');
    expect(typesOf(syncAll(messenger.sync(), 'a', { lastSeqs: { g: 1 } }))).toEqual([]);
  });

  test('come with the event id that the bus has, so that a client drops what it heard live', () => {
    const [id = ''] = messenger.post('b', 'g');
    messenger.messages.edit('b', 'g', id, 'x');
    const published = messenger.outbox
      .unsent(100)
      .map((row) => JSON.parse((JSON.parse(row.outgoing) as { envelope?: string }).envelope ?? '{}') as SyncedEvent);
    const answer = syncAll(messenger.sync(), 'a', { sinceMs: 0 });
    expect(answer.events.map((e) => e.event_id)).toEqual(published.filter((e) => e.type?.startsWith('message.')).map((e) => e.event_id));
  });

  test('come once for a subject, in the newest state', () => {
    const [id = ''] = messenger.post('b', 'g');
    for (const text of ['1', '2', '3']) messenger.messages.edit('b', 'g', id, text);
    messenger.messages.react('b', 'g', id, 'x');
    messenger.messages.unreact('b', 'g', id, 'x');
    const answer = syncAll(messenger.sync(), 'a', { lastSeqs: { g: 1 }, sinceMs: 0 });
    expect(answer.events.map((e) => [e.type, e.payload.text])).toEqual([
      ['message.edited', '3'],
      ['reaction.removed', undefined],
    ]);
  });
});

test('reactions to messages that are news come with them, whenever they were given', () => {
  const [id = ''] = messenger.post('b', 'g');
  messenger.messages.react('b', 'g', id, 'x');
  expect(typesOf(syncAll(messenger.sync(), 'a'))).toEqual(['message.new', 'reaction.added']);
});

test('who was taken out of a conversation is told, and sees nothing else of it', async () => {
  const [id = ''] = messenger.post('b', 'g');
  const sinceMs = messenger.clock.wallMs();
  messenger.conversations.removeMember('b', 'g', 'a');
  messenger.post('b', 'g', 3);
  messenger.messages.edit('b', 'g', id, 'not for a');
  const answer = syncAll(messenger.sync(), 'a', { lastSeqs: { g: 1, d: 0 }, sinceMs });
  expect(answer.conversations.map((row) => row.conversation_id)).toEqual(['d']);
  expect(answer.events).toMatchObject([{ type: 'member.changed', conversation_id: 'g', payload: { user_id: 'a', change: 'removed' } }]);
  expect(syncAll(messenger.sync(), 'c', { lastSeqs: { g: 0 }, sinceMs: 0 }).events).toEqual([]);
});

describe('pages', () => {
  test('hold what they are allowed to, and together everything once', () => {
    messenger.post('b', 'g', 25);
    const ids = messenger.post('b', 'd', 7);
    for (const id of ids) messenger.messages.react('b', 'd', id, 'x');
    const first = messenger.sync({ pageEvents: 10 }).begin({ userId: 'a', lastSeqs: new Map(), sinceMs: undefined }) as Answer;
    expect(first.events).toHaveLength(10);
    const answer = syncAll(messenger.sync({ pageEvents: 10 }), 'a');
    expect(answer.pages).toBe(4);
    expect(seqsOf(answer, 'g')).toEqual(Array.from({ length: 25 }, (_, n) => n + 1));
    expect(typesOf(answer).filter((type) => type === 'reaction.added')).toHaveLength(7);
  });

  test('a page that is asked for twice is the same page, whatever was posted meanwhile', () => {
    messenger.post('b', 'g', 12);
    const sync = messenger.sync({ pageEvents: 5 });
    const { next_page: token = '' } = sync.begin({ userId: 'a', lastSeqs: new Map(), sinceMs: undefined }) as Answer;
    const once = granted(sync.resume('a', token));
    messenger.post('b', 'g', 3);
    messenger.post('b', 'd', 3);
    expect(sync.resume('a', token)).toEqual(once);
    const last = granted(sync.resume('a', (once as Answer).next_page ?? '')) as Answer;
    expect(last.events.map((e) => e.payload.seq)).toEqual([11, 12]);
    expect(last.next_page).toBeUndefined();
  });

  test('a page token opens nothing for another user, and nothing when it is made up or expired', async () => {
    messenger.post('b', 'g', 12);
    const sync = messenger.sync({ pageEvents: 5, walkTtlMs: 1000 });
    const { next_page: token = '' } = sync.begin({ userId: 'a', lastSeqs: new Map(), sinceMs: undefined }) as Answer;
    for (const [user, page] of [
      ['b', token],
      ['a', `${token.split('/')[0]}/x`],
      ['a', `${token.split('/')[0]}`],
      ['a', 'x/m.0.0'],
      ['a', ''],
    ] as const) {
      expect(sync.resume(user, page)).toBeInstanceOf(Refusal);
    }
    await messenger.clock.advance(1001);
    sync.begin({ userId: 'a', lastSeqs: new Map(), sinceMs: undefined }); // reaps
    expect(sync.resume('a', token)).toMatchObject({ code: 'page_unknown' });
  });
});

/** The smallest client that obeys the contract: it keeps messages by id, and applies changes. */
class ModelClient {
  readonly #messages = new Map<string, { seq: number; text: string; deleted: boolean; reactions: Set<string> }>();
  readonly #receipts = new Map<string, number>();
  readonly lastSeqs = new Map<string, number>();
  title = '';

  apply({ conversations, events }: Answer): void {
    for (const { type, conversation_id, payload } of events) {
      const known = this.#messages.get(payload.id ?? payload.message_id ?? '');
      const reaction = `${payload.user_id} ${payload.emoji}`;
      if (type === 'message.new' && known === undefined) {
        this.#messages.set(payload.id ?? '', {
          seq: payload.seq ?? 0,
          text: payload.text ?? '',
          deleted: payload.deleted_at !== undefined,
          reactions: new Set(),
        });
      }
      if (type === 'message.edited' && known !== undefined) known.text = payload.text ?? '';
      if (type === 'message.deleted' && known !== undefined) Object.assign(known, { text: '', deleted: true, reactions: new Set() });
      if (type === 'reaction.added') known?.reactions.add(reaction);
      if (type === 'reaction.removed') known?.reactions.delete(reaction);
      if (type === 'receipt.read') this.#receipts.set(`${conversation_id} ${payload.user_id}`, payload.seq ?? 0);
      if (type === 'conversation.updated') this.title = payload.title ?? '';
    }
    for (const { conversation_id, last_seq } of conversations) this.lastSeqs.set(conversation_id, last_seq);
  }

  state(): object {
    const messages = [...this.#messages.values()].sort((one, other) => one.seq - other.seq);
    return {
      messages: messages.map((m) => ({ ...m, reactions: [...m.reactions].sort() })),
      receipts: [...this.#receipts].sort(),
      title: this.title,
    };
  }
}

test('a client that syncs now and then has in the end exactly what the messenger has, whatever happened and however small the pages', async () => {
  const op = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ kind: 'post' as const }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom('edit' as const, 'delete' as const, 'react' as const, 'unreact' as const),
        at: fc.nat(),
      }),
    },
    { weight: 1, arbitrary: fc.constantFrom({ kind: 'read' as const }, { kind: 'title' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'sync' as const }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(op, { maxLength: 40 }), fc.integer({ min: 1, max: 7 }), async (ops, pageEvents) => {
      const { clock } = messenger;
      const { conversationId: id } = granted(
        messenger.conversations.createGroup('a', { title: 'T', avatarUrl: undefined, memberIds: ['b'] }),
      ).conversation;
      const sync = messenger.sync({ pageEvents, windowMessages: 1000 });
      const client = new ModelClient();
      client.title = 'T';
      let sinceMs: number | undefined;
      const ids: string[] = [];
      const syncClient = async (): Promise<void> => {
        const answer = syncAll(sync, 'a', { lastSeqs: Object.fromEntries(client.lastSeqs), ...(sinceMs === undefined ? {} : { sinceMs }) });
        client.apply({ ...answer, events: answer.events.filter((e) => e.conversation_id === id) });
        // A client's cursor is the newest event that it has; this one is as new as the sync.
        sinceMs = clock.wallMs();
        await clock.advance(1);
      };
      await syncClient();
      for (const [n, one] of ops.entries()) {
        const target = 'at' in one ? (ids[one.at % Math.max(1, ids.length)] ?? '') : '';
        if (one.kind === 'post') ids.push(...messenger.post('b', id));
        if (one.kind === 'edit') messenger.messages.edit('b', id, target, `edit ${n}`);
        if (one.kind === 'delete') messenger.messages.delete('b', id, target);
        if (one.kind === 'react') messenger.messages.react('b', id, target, 'x');
        if (one.kind === 'unreact') messenger.messages.unreact('b', id, target, 'x');
        if (one.kind === 'read') messenger.receipts.acknowledge('b', id, 'read', ids.length);
        if (one.kind === 'title') messenger.conversations.update('b', id, { title: `title ${n}` });
        if (one.kind === 'sync') await syncClient();
        await clock.advance(1);
      }
      await syncClient();

      const history = granted(messenger.messages.history('a', id, undefined, 1000));
      const truth = {
        messages: history.map(({ messageId, seq, text, deletedAtMs }) => ({
          seq,
          text,
          deleted: deletedAtMs !== undefined,
          reactions: messenger.messages
            .reactionsTo(messageId)
            .map((r) => Object.values(r).join(' '))
            .sort(),
        })),
        receipts: messenger.receipts
          .of(id)
          .map((r) => {
            const { user_id, seq } = r as { user_id: string; seq: number };
            return [`${id} ${user_id}`, seq];
          })
          .filter(([, seq]) => (seq as number) > 0),
        title: granted(messenger.conversations.of('a', id)).title,
      };
      const state = client.state() as { receipts: [string, number][] };
      expect({ ...state, receipts: state.receipts.filter(([, seq]) => seq > 0) }).toEqual(truth);
    }),
    { numRuns: 60 },
  );
}, 60_000);
