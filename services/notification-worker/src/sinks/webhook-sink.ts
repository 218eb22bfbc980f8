import { request } from 'undici';
import { type Push, type PushSink, pushBody } from '../push-sink.js';

/** The webhook did not take it now; it may later. */
export class WebhookError extends Error {
  readonly code = 'WEBHOOK_FAILED';
  readonly retryable = true;
}

/** POSTs each push as JSON. 2xx is accepted; 4xx is refused for good, except 408 and 429; anything else is worth another try. */
export class WebhookSink implements PushSink {
  readonly #url: string;
  readonly #timeoutMs: number;

  constructor(url: string, timeoutMs: number) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
  }

  async push(push: Push): Promise<'accepted' | 'refused'> {
    const { statusCode, body } = await request(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(pushBody(push)),
      signal: AbortSignal.timeout(this.#timeoutMs),
    });
    await body.dump();
    if (statusCode >= 200 && statusCode < 300) return 'accepted';
    if (statusCode >= 400 && statusCode < 500 && statusCode !== 408 && statusCode !== 429) return 'refused';
    throw new WebhookError(`the webhook answered ${statusCode}`);
  }
}
