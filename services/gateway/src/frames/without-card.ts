import { type JsonMember, keyEquals } from '@event-gateway/protocol';

const emptyObject = Buffer.from('{}');
const openBrace = Buffer.from('{');
const comma = Buffer.from(',');
const closeBrace = Buffer.from('}');

/**
 * A message's payload without `sender_name` and `avatar_url`, however often and however escaped they are there: names come from
 * cards, and no key may appear twice. Everything else stays as it was written; nearly always that is the payload itself.
 * `members` are the payload's. An empty object is exactly `{}`.
 */
export function withoutCard(payload: Uint8Array, members: readonly JsonMember[]): Uint8Array {
  if (members.length === 0) return emptyObject;
  for (const member of members) if (isCardMember(payload, member)) return cut(payload, members);
  return payload;
}

/** Neighbours that are kept stay one run, with what is between them. */
function cut(payload: Uint8Array, members: readonly JsonMember[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  let runStart = 1;
  members.forEach((member, index) => {
    if (!isCardMember(payload, member)) return;
    appendRun(runStart, members[index - 1]?.valueEnd ?? runStart);
    runStart = (members[index + 1]?.keyStart ?? payload.length) - 1;
  });
  appendRun(runStart, payload.length - 1);
  return pieces.length === 0 ? emptyObject : Buffer.concat([...pieces, closeBrace]);

  function appendRun(start: number, end: number): void {
    if (start < end) pieces.push(pieces.length === 0 ? openBrace : comma, payload.subarray(start, end));
  }
}

function isCardMember(payload: Uint8Array, member: JsonMember): boolean {
  return keyEquals(payload, member, 'sender_name') || keyEquals(payload, member, 'avatar_url');
}
