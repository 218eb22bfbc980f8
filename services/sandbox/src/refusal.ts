/** What the messenger says no to, and the HTTP status that says it. A closed set: clients branch on the code. */
export const REFUSAL_STATUS = {
  bad_json: 400,
  bad_request: 400,
  page_unknown: 400,
  token_missing: 401,
  token_invalid: 401,
  token_expired: 401,
  not_a_member: 403,
  not_the_author: 403,
  not_found: 404,
  user_unknown: 404,
  conversation_unknown: 404,
  message_unknown: 404,
  method_not_allowed: 405,
  direct_is_fixed: 409,
  message_deleted: 409,
  payload_too_large: 413,
  upstream_unavailable: 502,
} as const;

export type RefusalCode = keyof typeof REFUSAL_STATUS;

/** An expected "no", returned as a value. */
export class Refusal {
  readonly code: RefusalCode;
  readonly message: string;

  constructor(code: RefusalCode, message: string) {
    this.code = code;
    this.message = message;
  }

  get status(): number {
    return REFUSAL_STATUS[this.code];
  }
}
