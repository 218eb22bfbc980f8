import { Counter, Trend } from 'k6/metrics';
import { clearInterval, setInterval, setTimeout } from 'k6/timers';
import { WebSocket } from 'k6/websockets';

const gatewayUrl = __ENV['GATEWAY_URL'] ?? 'ws://localhost:8080/api/v1/ws';

/** From the start of the attempt until `hello`. */
export const helloMs = new Trend('gateway_hello_ms', true);
/** Connections that ended although the test had not ended them. */
export const lostConnections = new Counter('gateway_lost_connections');
/** `error` and `sync.required` frames. */
export const complaints = new Counter('gateway_complaints');

/** Any frame of the server: a type, and whatever that type has. */
export interface Frame {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Session {
  /** How long the connection stays, from its opening on. */
  readonly durationMs: number;
  readonly onHello?: (send: (frame: Frame) => void) => void;
  /** Sent again and again while the connection is open. */
  readonly repeats?: { readonly frame: Frame; readonly everyMs: number };
  readonly onFrame?: (frame: Frame) => void;
}

/** One connection of the current virtual user: opened, kept alive as the server asks for it, and closed after its time. */
export function holdConnection(token: string, { durationMs, onHello, onFrame, repeats }: Session): void {
  const startMs = Date.now();
  const socket = new WebSocket(`${gatewayUrl}?token=${token}`);
  const send = (frame: Frame): void => socket.send(JSON.stringify(frame));
  const timers: number[] = [];
  let isEnding = false;

  socket.onmessage = (event) => {
    if (typeof event?.data !== 'string') return;
    const frame = JSON.parse(event.data) as Frame;
    if (frame.type === 'hello') {
      helloMs.add(Date.now() - startMs);
      timers.push(setInterval(() => send({ type: 'ping' }), Number(frame['heartbeat_ms'])));
      if (repeats !== undefined) timers.push(setInterval(() => send(repeats.frame), repeats.everyMs));
      onHello?.(send);
    }
    if (frame.type === 'error' || frame.type === 'sync.required') complaints.add(1, { type: frame.type });
    onFrame?.(frame);
  };
  socket.onclose = () => {
    for (const timer of timers) clearInterval(timer);
    if (!isEnding) lostConnections.add(1);
  };
  setTimeout(() => {
    isEnding = true;
    socket.close(1000);
  }, durationMs);
}
