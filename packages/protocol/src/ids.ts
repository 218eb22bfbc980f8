/** An opaque user id: 1–128 UTF-16 units of well-formed Unicode without control characters. */
export type UserId = string & { readonly __brand: 'UserId' };
/** An opaque conversation id, of the same form as a user id. */
export type ConversationId = string & { readonly __brand: 'ConversationId' };

/** The longest id, in UTF-16 units (what `length` counts). */
export const MAX_ID_UNITS = 128;

/** C0, DEL and C1; anything else that is well-formed Unicode may be part of an id. */
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

/** True for 1–128 UTF-16 units without lone surrogates and control characters. `__proto__` is an ordinary id. */
export function isId(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length > 0 && value.length <= MAX_ID_UNITS && !controlCharacter.test(value) && isWellFormed(value)
  );
}

export function asUserId(value: unknown): UserId | undefined {
  return isId(value) ? (value as UserId) : undefined;
}

export function asConversationId(value: unknown): ConversationId | undefined {
  return isId(value) ? (value as ConversationId) : undefined;
}

/**
 * The ids of an array, each once and in order; undefined when the value is not an array or one of them is not an id.
 * One bad id makes the whole list bad: whom it meant to name is unknown, so delivering to the others would be a silent loss.
 */
export function asUserIds(value: unknown): UserId[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const ids = new Set<UserId>();
  for (const item of value) {
    const id = asUserId(item);
    if (id === undefined) return undefined;
    ids.add(id);
  }
  return [...ids];
}

function isWellFormed(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0xd800 || unit > 0xdfff) continue;
    if (unit > 0xdbff) return false; // a low surrogate without its high one
    const next = text.charCodeAt(++i); // NaN at the end
    if (!(next >= 0xdc00 && next <= 0xdfff)) return false;
  }
  return true;
}
