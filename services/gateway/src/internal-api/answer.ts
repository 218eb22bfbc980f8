import { HTTP_REFUSAL_STATUS, type HttpRefusal } from '@event-gateway/protocol';

/** What a route answers. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function json(status: number, value: unknown): Answer {
  return { status, contentType: 'application/json; charset=utf-8', body: JSON.stringify(value) };
}

/** `{"error": {"code", "message"}}` with the status of the code. */
export function refused(code: HttpRefusal, message: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { ...json(HTTP_REFUSAL_STATUS[code], { error: { code, message } }), headers };
}
