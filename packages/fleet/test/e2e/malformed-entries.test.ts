import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, type Fleet, type RecordingClient, startFleet } from '../../src/index.js';

const stream = 'messenger.events';
const good = JSON.stringify(['alice']);
const json = (value: unknown): string => JSON.stringify(value);

let fleet: Fleet;
let clients: RecordingClient[];

beforeAll(async () => {
  fleet = await startFleet({ nginx: false });
  clients = await Promise.all(fleet.replicas.map((replica) => fleet.connect('alice', { replica })));
});

afterAll(async () => fleet.stop());

type Fields = readonly (string | Buffer)[];
const tooLarge = 'x'.repeat(1_048_577);

const malformed: [reason: string, what: string, fields: Fields][] = [
  ['no_envelope', 'nothing under a known name', ['recipients', good, 'body', '{}']],
  ['not_json', 'an envelope that is no JSON', ['recipients', good, 'envelope', '{"type":"news"']],
  ['not_object', 'an envelope that is a list', ['recipients', good, 'envelope', '["news"]']],
  ['no_type', 'an envelope without a type', ['recipients', good, 'envelope', '{"payload":{}}']],
  ['no_type', 'a type that is no text', ['recipients', good, 'envelope', '{"type":5}']],
  ['type_reserved', 'a name that the gateway sends itself', ['recipients', good, 'envelope', '{"type":"sync.required"}']],
  ['recipients_missing', 'recipients nowhere', ['envelope', '{"type":"news"}']],
  ['recipients_invalid', 'one bad id among good ones', ['recipients', '["alice",5]', 'envelope', '{"type":"news"}']],
  ['recipients_invalid', 'recipients in the envelope that are no list', ['envelope', '{"type":"news","recipients":"alice"}']],
  ['payload_invalid', 'a message whose payload is a list', ['recipients', good, 'envelope', '{"type":"message.new","payload":[]}']],
  [
    'invalid_utf8',
    'bytes that are no text',
    ['recipients', good, 'envelope', Buffer.from('{"type":"news","payload":{"a":"\xff"}}', 'latin1')],
  ],
  ['oversized', 'an envelope over the limit', ['recipients', good, 'envelope', json({ type: 'news', payload: { tooLarge } })]],
  ['not_json', 'the envelope under another name', ['recipients', good, 'event', 'nope']],
];

async function deadLettersOf(id: string): Promise<Map<string, string>[]> {
  const entries = (await fleet.redis.call('XRANGE', `${stream}.dead`, '-', '+')) as [string, string[]][];
  return entries.map(([, fields]) => toMap(fields)).filter((letter) => letter.get('id') === id);
}

function toMap(fields: readonly string[]): Map<string, string> {
  return new Map(fields.flatMap((name, index) => (index % 2 === 0 ? [[name, fields[index + 1] ?? ''] as const] : [])));
}

describe('a malformed entry between two good ones', () => {
  test.each(malformed)('%s: %s', async (reason, _what, fields) => {
    const [before, id, after] = await Promise.all([
      fleet.publish({ type: 'news', recipients: ['alice'], payload: { before: reason } }),
      fleet.publishFields(...fields),
      fleet.publish({ type: 'news', recipients: ['alice'], payload: { after: reason } }),
    ]);
    await fleet.untilHandled(after); // nothing is left pending in any group either
    const letters = await deadLettersOf(id);
    expect(letters).toHaveLength(1); // once, although two replicas have met it
    const [letter] = letters;
    expect(letter?.get('reason')).toBe(reason);
    expect(letter?.get('replica')).toMatch(/^gateway-[12]$/);
    expect(Number(letter?.get('at_ms'))).toBeGreaterThan(Date.now() - 60_000);
    expect(Object.keys(JSON.parse(letter?.get('entry') ?? 'null'))).toEqual(
      expect.arrayContaining(['envelope'].filter((name) => fields.includes(name) && reason !== 'oversized')),
    );
    expect(letter?.get('entry')?.length).toBeLessThanOrEqual(65_536);
    for (const client of clients) {
      await client.flush();
      const cursors = client.ofType('news').map((frame) => frame['cursor']);
      expect(cursors).toEqual(expect.arrayContaining([before, after]));
      expect(cursors).not.toContain(id);
      expect(client.isOpen).toBe(true);
    }
  });

  test('every reason is counted on each replica that met it', async () => {
    const reasons = [...new Set(malformed.map(([reason]) => reason))];
    for (const replica of fleet.replicas) {
      const metrics = await replica.metrics();
      for (const reason of reasons) expect([reason, metrics.value('gateway_stream_malformed_total', { reason })]).not.toContain(undefined);
      expect(metrics.value('gateway_stream_entries_total', { outcome: 'malformed' })).toBe(malformed.length);
      // Read from Redis now and then, not at every scrape.
      await eventually(async () => expect((await replica.metrics()).value('gateway_stream_pending_entries')).toBe(0));
    }
  });

  test('a hand-written publisher may put the envelope under event, data or payload', async () => {
    for (const field of ['event', 'data', 'payload']) {
      const id = await fleet.publishFields(field, json({ type: 'news', recipients: ['alice'], payload: { field } }));
      for (const client of clients) await client.waitFor((frame) => frame['cursor'] === id);
    }
  });
});
