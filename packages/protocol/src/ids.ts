/** An opaque user id: 1–128 UTF-16 units of well-formed Unicode without control characters. */
export type UserId = string & { readonly __brand: 'UserId' };
/** An opaque conversation id, of the same form as a user id. */
export type ConversationId = string & { readonly __brand: 'ConversationId' };

/** The longest id, in UTF-16 units (what `length` counts). */
export const MAX_ID_UNITS = 128;

/** True for 1–128 UTF-16 units without lone surrogates and control characters. `__proto__` is an ordinary id. */
export function isId(value: unknown): value is string {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_ID_UNITS) return false;
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i);
    if (unit >= 0x20 && unit < 0x7f) continue;
    if (unit < 0xa0) return false; // C0, DEL and C1
    if (unit < 0xd800 || unit > 0xdfff) continue;
    if (unit > 0xdbff) return false; // a low surrogate without its high one
    const next = value.charCodeAt(++i); // NaN at the end
    if (!(next >= 0xdc00 && next <= 0xdfff)) return false;
  }
  return true;
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
