import { cpuTimeUs } from '../host/cpu-time.js';
import { Child } from '../processes/child.js';
import type { PacedReply, PacedRequest, PrepareRequest, PublishCalls } from './publish-calls.js';

/** Whoever puts the events on the buses, in a process of its own. */
export class Publisher {
  readonly #process = new Child<PublishCalls>('publisher', new URL('./main.js', import.meta.url));

  cpuUs(): number {
    return cpuTimeUs(this.#process.pid);
  }

  async prepare(request: PrepareRequest): Promise<void> {
    await this.#process.call('prepare', request);
  }

  async burst(source: string, events: number, options: { readonly thenTo?: readonly string[] } = {}): Promise<void> {
    await this.#process.call('burst', { source, events, ...options });
  }

  async paced(request: PacedRequest): Promise<PacedReply> {
    return this.#process.call('paced', request);
  }

  /** The `paced` under way ends now, with what it has published. */
  async halt(source: string): Promise<void> {
    await this.#process.call('halt', { source });
  }

  async forget(source: string): Promise<void> {
    await this.#process.call('forget', { source });
  }

  async stop(): Promise<void> {
    await this.#process.stop();
  }
}
