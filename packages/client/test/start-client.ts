import type { ClientEvents } from '../src/client-events.js';
import type { DurableFrame } from '../src/frames.js';
import { GatewayClient } from '../src/gateway-client.js';
import type { GatewayClientOptions } from '../src/options.js';
import type { PageSignal, PageSignals } from '../src/page-signals.js';
import { FakeClock, settle } from './fake-clock.js';
import { type FakeWebSocket, fakeWebSockets } from './fake-web-socket.js';

export class FakePage implements PageSignals {
  offline = false;
  hidden = false;
  #heard: ((signal: PageSignal) => void) | undefined;

  isOffline(): boolean {
    return this.offline;
  }

  isHidden(): boolean {
    return this.hidden;
  }

  listen(heard: (signal: PageSignal) => void): () => void {
    this.#heard = heard;
    return () => {
      this.#heard = undefined;
    };
  }

  get isHeard(): boolean {
    return this.#heard !== undefined;
  }

  signal(signal: PageSignal): void {
    this.#heard?.(signal);
  }
}

export interface Started {
  readonly client: GatewayClient;
  readonly clock: FakeClock;
  readonly page: FakePage;
  readonly sockets: FakeWebSocket[];
  /** The newest socket. */
  socket(): FakeWebSocket;
  /** What the application was given, by event name. */
  heard<Type extends keyof ClientEvents>(type: Type): ClientEvents[Type][];
  messageIds(): string[];
}

/** A client on a fake clock and fake sockets, its first socket made. `random` is 0.5 unless told. */
export async function startClient(options: Partial<GatewayClientOptions> = {}): Promise<Started> {
  const clock = new FakeClock();
  const page = new FakePage();
  const { webSocket, sockets } = fakeWebSockets();
  const client = new GatewayClient({
    url: 'wss://chat.test/api/v1/ws',
    token: () => 'h.p.s',
    clock,
    page,
    webSocket,
    random: () => 0.5,
    initialSync: false,
    ...options,
  });
  const heard = new Map<string, unknown[]>();
  const names: (keyof ClientEvents)[] = [
    ...(['message', 'message.new', 'message.edited', 'message.deleted', 'event', 'typing', 'presence'] as const),
    ...(['status', 'hello', 'synced', 'error', 'reaction.added'] as const),
  ];
  for (const name of names) {
    heard.set(name, []);
    client.on(name, (payload) => heard.get(name)?.push(payload));
  }
  client.connect();
  await settle();
  return {
    client,
    clock,
    page,
    sockets,
    socket: () => sockets.at(-1) as FakeWebSocket,
    heard: <Type extends keyof ClientEvents>(type: Type) => heard.get(type) as ClientEvents[Type][],
    messageIds: () => (heard.get('message') as DurableFrame[]).map((frame) => frame.message?.id ?? ''),
  };
}

/** `message.new` number `seq` of a conversation, as a frame. */
export function message(seq: number, fields: { cursor?: string | null; conversation?: string; id?: string; sender?: string } = {}): object {
  const { cursor, conversation = 'c1', id = `${conversation}.m${seq}`, sender = 'u2' } = fields;
  return { type: 'message.new', cursor, conversation_id: conversation, message: { id, seq, sender_id: sender, text: `text ${seq}` } };
}
