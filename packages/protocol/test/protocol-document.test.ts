import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  CLOSE_CODES,
  decodeSyncPage,
  DEFINED_EVENT_TYPES,
  FRAME_ERROR_CODES,
  MALFORMED_REASONS,
  type ReconnectAfter,
  UPGRADE_REFUSAL_STATUS,
} from '../src/index.js';
import { messagesOf, validateClientFrame, validateEntry, validateServerFrame } from './contract-documents.js';

// What docs/protocol.md tells people, held against the code and against the documents of exact form.

const text = readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8');

/** Code blocks of JSON with a second word after `json`. */
const examples = [...text.matchAll(/```json ([a-z-]+)\n([^`]+)```/g)].map(([, kind = '', json = '']) => ({ kind, json }));
const framesOf = (kind: string): { type: string }[] =>
  examples.filter((example) => example.kind === kind).map(({ json }) => JSON.parse(json) as { type: string });

describe('the examples', () => {
  test('of frames are frames of the contract', () => {
    for (const frame of framesOf('server-frame')) expect(validateServerFrame(frame), frame.type).toEqual([]);
    for (const frame of framesOf('client-frame')) expect(validateClientFrame(frame), frame.type).toEqual([]);
  });

  test('show every frame that is no event, both ways', () => {
    const shown = framesOf('server-frame').map(({ type }) => type);
    const own = [...messagesOf('sendServerFrames').keys()].filter((type) => !DEFINED_EVENT_TYPES.has(type) && type !== 'any other type');
    expect(own.filter((type) => !shown.includes(type))).toEqual([]);
    const sent = framesOf('client-frame').map(({ type }) => type);
    expect([...messagesOf('receiveClientFrames').keys()].filter((type) => !sent.includes(type))).toEqual([]);
  });

  test('of an entry and of a page of a sync are what the gateway reads', () => {
    const of = (kind: string): string => examples.find((example) => example.kind === kind)?.json ?? '';
    expect(validateEntry({ recipients: of('recipients'), envelope: of('envelope') })).toEqual([]);
    expect(decodeSyncPage(Buffer.from(of('sync-page')))).toMatchObject({ conversations: [{}], events: [{}], nextPage: 'p2' });
  });
});

describe('the tables', () => {
  test('have every close code, and say when to come back as the code does', () => {
    const words: Readonly<Record<ReconnectAfter, string>> = {
      backoff: 'with back-off',
      hint: 'after the `after_ms` of `reconnect`',
      new_token: 'with a new token',
      never: 'never by yourself',
    };
    const rows = [...text.matchAll(/^\| (\d{4}) \| .* \| (.*) \|$/gm)].map(([, code = '', after = '']) => [Number(code), after]);
    expect(rows).toEqual([...new Map(Object.values(CLOSE_CODES).map(({ code, after }) => [code, words[after]]))]);
  });

  test('have every refusal with its status', () => {
    const rows = [...text.matchAll(/^\| (401|403|503) \| (.*?) \|/gm)].flatMap(([, status, codes = '']) =>
      [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => [code, Number(status)]),
    );
    expect(Object.fromEntries(rows)).toEqual(UPGRADE_REFUSAL_STATUS);
  });

  test.each([
    ['### Malformed entries', MALFORMED_REASONS],
    ['| error code |', FRAME_ERROR_CODES],
  ])('under "%s" have the whole closed set', (heading, members) => {
    const [, after = ''] = text.split(heading);
    const table = /(?:^\|.*\n)+/m.exec(after)?.[0] ?? '';
    const firstCells = [...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell]) => cell).join(' ');
    expect([...firstCells.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual([...members].sort());
  });

  test('every type with a frame of its own is named', () => {
    expect([...DEFINED_EVENT_TYPES].filter((type) => !text.includes(`\`${type}\``))).toEqual([]);
  });
});
