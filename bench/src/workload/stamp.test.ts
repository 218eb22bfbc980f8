import { expect, test } from 'vitest';
import { readStamp, stampOffset, writeStamp } from './stamp.js';
import { eventsOf, stampPlaceholder } from './workload.js';

const workload = { seed: 1, name: 'c', conversations: 3, membersEach: 2, firstUser: 0, users: 10 };

test('the time of sending that is written into an encoded event is the one that is read from its frame', () => {
  const bytes = Buffer.from(JSON.stringify(eventsOf(workload, 1)[0]));
  for (const timeUs of [0, 7, 123_456_789, 999_999_999_999]) {
    writeStamp(bytes, stampOffset(bytes), timeUs);
    expect(readStamp(bytes, 0, bytes.length)).toBe(timeUs);
    expect(JSON.parse(bytes.toString()).envelope.payload.sent_us).toBe(stampPlaceholder + timeUs);
  }
});

test('a frame without one has none, even when the next frame in the buffer has', () => {
  const frame = Buffer.from('{"type":"pong"}');
  const both = Buffer.concat([frame, Buffer.from(JSON.stringify(eventsOf(workload, 1)[0]))]);
  expect(readStamp(both, 0, frame.length)).toBeUndefined();
});
