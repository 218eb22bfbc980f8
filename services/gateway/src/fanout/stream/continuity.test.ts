import { compareStreamIds, STREAM_START, type StreamId } from '@event-gateway/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Evidence, type Position, proveContinuity } from './continuity.js';
import { precedingId } from '../../tail/preceding-id.js';

const id = (ms: number) => `${ms}-0` as StreamId;

/** A stream as Redis counts it: entries by id, in order, and how many were ever added. */
class ModelStream {
  entries: StreamId[] = [];
  entriesAdded = 0;
  lastId: StreamId = STREAM_START;
  #ms = 0;

  add(count: number): void {
    for (let index = 0; index < count; index++) {
      this.lastId = id(++this.#ms);
      this.entries.push(this.lastId);
      this.entriesAdded++;
    }
  }

  trimTo(length: number): void {
    this.entries = this.entries.slice(Math.max(0, this.entries.length - length));
  }

  after(position: StreamId, count: number): StreamId[] {
    return this.entries.filter((entry) => compareStreamIds(entry, position) > 0).slice(0, count);
  }

  evidence(handledId: StreamId): Evidence {
    if (this.entries.includes(handledId)) return 'present';
    const { entriesAdded, lastId } = this;
    return { entriesAdded, length: this.entries.length, firstId: this.entries[0] ?? STREAM_START, lastId };
  }
}

describe('continuity', () => {
  test('an entry that is still there proves that nothing after it was trimmed', () => {
    const position = { id: id(5), count: undefined };
    expect(proveContinuity(position, [id(9)], 'present')).toEqual({ hole: undefined, before: position });
  });

  test('without a count nothing can be proven once the entry is gone', () => {
    const evidence = { entriesAdded: 20, length: 10, firstId: id(11), lastId: id(20) };
    expect(proveContinuity({ id: id(5), count: undefined }, [id(11)], evidence)).toEqual({
      hole: 'trimmed',
      before: { id: precedingId(id(11)), count: 10 },
    });
  });

  test('what was trimmed from the batch itself after it was read is not taken for a hole', () => {
    const evidence = { entriesAdded: 20, length: 7, firstId: id(14), lastId: id(20) };
    expect(proveContinuity({ id: id(10), count: 10 }, [id(11), id(12), id(13), id(14)], evidence).hole).toBeUndefined();
  });

  test('a position that never was an entry (a cut, a barrier) is proven by the count alone', () => {
    const evidence = { entriesAdded: 20, length: 20, firstId: id(1), lastId: id(20) };
    expect(proveContinuity({ id: '10-7' as StreamId, count: 10 }, [id(11)], evidence).hole).toBeUndefined();
  });

  test('a stream to which less was added than was read is another one', () => {
    const evidence = { entriesAdded: 3, length: 3, firstId: id(101), lastId: id(103) };
    expect(proveContinuity({ id: id(100), count: 100 }, [id(101)], evidence).hole).toBe('stream_reset');
  });

  test('a stream of which nothing has left and nothing is known is another one, too', () => {
    const evidence = { entriesAdded: 5, length: 5, firstId: id(101), lastId: id(105) };
    expect(proveContinuity({ id: id(3), count: 3 }, [id(101)], evidence).hole).toBe('trimmed');
  });

  test('an idle read learns the count where the last handled entry is the last of all', () => {
    const evidence = { entriesAdded: 20, length: 0, firstId: STREAM_START, lastId: id(20) };
    expect(proveContinuity({ id: id(20), count: undefined }, [], evidence)).toEqual({ hole: undefined, before: { id: id(20), count: 20 } });
  });

  test('a last id that was moved up without an entry is no hole', () => {
    const evidence = { entriesAdded: 20, length: 0, firstId: STREAM_START, lastId: id(500) };
    expect(proveContinuity({ id: id(20), count: 20 }, [], evidence).hole).toBeUndefined();
  });

  test('whatever is added, trimmed and read: no unread entry is trimmed in silence, and nothing is told without one', () => {
    const step = fc.oneof(
      fc.record({ add: fc.nat(12) }),
      fc.record({ trim: fc.nat(12) }),
      fc.record({ read: fc.integer({ min: 1, max: 8 }), trimBeforeProof: fc.option(fc.nat(12)) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const stream = new ModelStream();
        let position: Position = { id: STREAM_START, count: 0 };
        let lost: StreamId[] = [];
        const trim = (length: number, read: readonly StreamId[]): void => {
          const before = stream.entries;
          stream.trimTo(length);
          const isUnread = (entry: StreamId) => compareStreamIds(entry, position.id) > 0 && !read.includes(entry);
          lost.push(...before.filter((entry) => !stream.entries.includes(entry) && isUnread(entry)));
        };
        for (const action of steps) {
          if ('add' in action) stream.add(action.add);
          else if ('trim' in action) trim(action.trim, []);
          else {
            const batch = stream.after(position.id, action.read);
            if (action.trimBeforeProof !== null && batch.length > 0) trim(action.trimBeforeProof, batch);
            const { hole, before } = proveContinuity(position, batch, stream.evidence(position.id));
            const [first] = batch;
            if (hole !== undefined) {
              expect(lost).not.toEqual([]);
              lost = [];
            } else expect(lost.filter((entry) => first === undefined || compareStreamIds(entry, first) < 0)).toEqual([]);
            position = { id: batch.at(-1) ?? before.id, count: (before.count ?? 0) + batch.length };
          }
        }
      }),
      { numRuns: 3000 },
    );
  });
});
