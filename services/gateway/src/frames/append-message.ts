import { type JsonMember, keyEquals } from '@event-gateway/protocol';

const openWithName = Buffer.from('{"sender_name":');
const nameKey = Buffer.from(',"sender_name":');
const comma = Buffer.from(',');
const openBrace = Buffer.from('{');
const closeBrace = Buffer.from('}');

/**
 * Appends a message's payload with its sender's card. `members` are the payload's, `named` is the name and what follows it.
 * Names come from cards: `sender_name` and `avatar_url` of the payload are cut out, however often and however escaped they
 * are there. Everything else stays as it was written.
 */
export function appendMessage(pieces: Uint8Array[], payload: Uint8Array, members: readonly JsonMember[], named: Uint8Array): void {
  if (members.length === 0) {
    pieces.push(openWithName, named, closeBrace);
  } else if (!members.some((member) => isCardMember(payload, member))) {
    pieces.push(payload.subarray(0, payload.length - 1), nameKey, named, closeBrace);
  } else {
    appendKept(pieces, payload, members);
    pieces.push(named, closeBrace);
  }
}

/** The payload without the card's members, up to and including the key of the name. Neighbours that are kept stay one run. */
function appendKept(pieces: Uint8Array[], payload: Uint8Array, members: readonly JsonMember[]): void {
  let separator = openBrace;
  let runStart = 1;
  members.forEach((member, index) => {
    if (!isCardMember(payload, member)) return;
    const previous = members[index - 1];
    appendRun(runStart, previous?.valueEnd ?? runStart);
    runStart = (members[index + 1]?.keyStart ?? payload.length) - 1;
  });
  appendRun(runStart, payload.length - 1);
  pieces.push(separator === openBrace ? openWithName : nameKey);

  function appendRun(start: number, end: number): void {
    if (start >= end) return;
    pieces.push(separator, payload.subarray(start, end));
    separator = comma;
  }
}

function isCardMember(payload: Uint8Array, member: JsonMember): boolean {
  return keyEquals(payload, member, 'sender_name') || keyEquals(payload, member, 'avatar_url');
}
