export interface PlainMessage {
  readonly recipients: readonly string[];
  readonly envelope: unknown;
}

/** Believed as it is: only the bench's publisher writes on that channel. */
export function decodePlainMessage(text: string): PlainMessage {
  return JSON.parse(text) as PlainMessage;
}
