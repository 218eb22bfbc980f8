import type { WebSocketConstructor, WebSocketLike } from '../src/web-socket.js';

type Handler = ((event: object) => void) | undefined;

/** A WebSocket whose other end is the test. */
export class FakeWebSocket implements WebSocketLike {
  onopen: unknown;
  onmessage: unknown;
  onclose: unknown;
  onerror: unknown;
  readyState = 0;
  readonly url: URL;
  readonly protocols: readonly string[];
  readonly sent: Record<string, unknown>[] = [];
  /** What the client closed it with. */
  closedByClient: number | undefined;
  /** The test's end may listen to what the client sends and to its close. */
  onFrame: ((frame: Record<string, unknown>) => void) | undefined;
  onClientClose: (() => void) | undefined;

  constructor(url: string, protocols: readonly string[]) {
    this.url = new URL(url);
    this.protocols = protocols;
  }

  send(text: string): void {
    const frame: Record<string, unknown> = JSON.parse(text);
    this.sent.push(frame);
    this.onFrame?.(frame);
  }

  close(code?: number): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.closedByClient = code;
    this.onClientClose?.();
  }

  get cursor(): string | null {
    return this.url.searchParams.get('cursor');
  }

  sentOf(type: string): Record<string, unknown>[] {
    return this.sent.filter((frame) => frame['type'] === type);
  }

  // --- the other end

  open(): void {
    this.readyState = 1;
    call(this.onopen, {});
  }

  frame(frame: object): void {
    this.text(JSON.stringify(frame));
  }

  text(data: unknown): void {
    if (this.readyState === 1) call(this.onmessage, { data });
  }

  serverClose(code: number): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    call(this.onclose, { code });
  }

  /** Refused before it was open, as a browser sees it. */
  refuse(): void {
    this.readyState = 3;
    call(this.onerror, {});
    call(this.onclose, { code: 1006 });
  }

  hello(fields: object = {}): void {
    if (this.readyState === 0) this.open();
    const hello = { connection_id: 'x1', replica_id: 'r1', user_id: 'u1', heartbeat_ms: 20_000, resumed: false, cursor: '100-0' };
    this.frame({ type: 'hello', ...hello, ...fields });
  }
}

function call(handler: unknown, event: object): void {
  (handler as Handler)?.(event);
}

/** A constructor for the option `webSocket`, and every socket that it made. */
export function fakeWebSockets(made?: (socket: FakeWebSocket) => void): { webSocket: WebSocketConstructor; sockets: FakeWebSocket[] } {
  const sockets: FakeWebSocket[] = [];
  const webSocket = class extends FakeWebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      sockets.push(this);
      made?.(this);
    }
  };
  return { webSocket, sockets };
}
