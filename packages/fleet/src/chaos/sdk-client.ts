import { type ClientTiming, GatewayClient, type WebSocketConstructor } from '@event-gateway/client';
import WebSocket from 'ws';
import { type ChaosClient, type ChaosClientOptions, connectTimeoutMs, firstRetryMs, longestRetryMs } from './chaos-client.js';
import { textOf } from './read-frame.js';

/** Every wait as short as the run's; nothing is handed out before what it waits for has come. */
const timing: Partial<ClientTiming> = {
  firstRetryMaxMs: firstRetryMs,
  backoffBaseMs: firstRetryMs,
  backoffMaxMs: longestRetryMs,
  stableAfterMs: longestRetryMs,
  connectTimeoutMs,
  pongTimeoutMs: connectTimeoutMs,
  probeTimeoutMs: connectTimeoutMs,
  syncPatienceMs: 5000,
  holdMs: 120_000,
};

/** The client that applications use, with its frames watched on their way. */
export class SdkClient implements ChaosClient {
  readonly name: string;
  readonly userId: string;
  readonly application: ChaosClient['application'];
  readonly audit: ChaosClient['audit'];
  readonly #client: GatewayClient;

  constructor(options: ChaosClientOptions) {
    const { urls, token, application } = options;
    let attempts = 0;
    this.name = options.name;
    this.userId = options.userId;
    this.application = application;
    this.audit = options.audit;
    this.#client = new GatewayClient({
      url: () => urls[attempts++ % urls.length] ?? '',
      token: () => token,
      webSocket: watchedWebSocket(options),
      page: null,
      timing,
    });
    this.#client.on('message', ({ conversation_id: conversationId = '', message }) =>
      application.message(conversationId, message.seq ?? 0),
    );
    this.#client.on('message.edited', ({ message }) => application.edited(message.id, Number(message['version'])));
  }

  start(): void {
    this.#client.connect();
  }

  stop(): void {
    void this.#client.close();
  }
}

function watchedWebSocket({ audit, onClosed }: ChaosClientOptions): WebSocketConstructor {
  return class extends WebSocket {
    #isClosing = false;

    constructor(url: string, protocols: string[]) {
      super(url, protocols, { perMessageDeflate: false });
      audit.opening(url);
      this.on('open', () => {
        this.on('close', (code) => {
          if (this.#isClosing) return;
          audit.closed(code);
          onClosed(url, code);
        });
      });
      this.on('message', (data) => {
        if (!this.#isClosing) audit.received(textOf(data));
      });
    }

    override send(text: string): void {
      audit.sent(text);
      super.send(text);
    }

    override close(code?: number): void {
      this.#isClosing = true;
      super.close(code);
      // The other side may hang: a socket that is given up must not keep its connection.
      setTimeout(() => this.terminate(), connectTimeoutMs).unref();
    }
  };
}
