import type { Logger } from '@event-gateway/runtime';
import { type Push, type PushSink, pushBody } from '../push-sink.js';

/** For a first look: every push is a line in the log. */
export class LogSink implements PushSink {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  async push(push: Push): Promise<'accepted'> {
    this.#logger.info(pushBody(push), 'push');
    return 'accepted';
  }
}
