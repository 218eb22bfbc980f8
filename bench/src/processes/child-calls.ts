/** What a child process can be asked: its calls by name, each with its request and its reply, all of them plain data. */
export type Calls = Readonly<Record<string, { readonly request: unknown; readonly reply: unknown }>>;

export interface Call {
  readonly id: number;
  readonly name: string;
  readonly request: unknown;
}

export interface CallAnswer {
  readonly id: number;
  readonly reply?: unknown;
  /** Why it failed. */
  readonly error?: string;
}

export function isCall(message: unknown): message is Call {
  return typeof message === 'object' && message !== null && 'id' in message && 'name' in message;
}

export function isCallAnswer(message: unknown): message is CallAnswer {
  return typeof message === 'object' && message !== null && 'id' in message && ('reply' in message || 'error' in message);
}
