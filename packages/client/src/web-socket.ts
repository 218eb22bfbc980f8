/** What the client uses of a WebSocket; the browser's and the one of `ws` have it. Handlers are assigned, never read. */
export interface WebSocketLike {
  onopen: unknown;
  onmessage: unknown;
  onclose: unknown;
  onerror: unknown;
  readonly readyState: number;
  send(text: string): void;
  close(code?: number): void;
}

export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

/** The given constructor, else the platform's. */
export function findWebSocket(given: WebSocketConstructor | undefined): WebSocketConstructor {
  const found = given ?? globalThis.WebSocket;
  if (found === undefined) {
    throw new Error('No WebSocket on this platform: pass one as the option `webSocket`, for example the one of the package "ws".');
  }
  return found;
}
