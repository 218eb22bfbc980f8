import type { Clock } from './clock.js';
import type { Logger } from './logger.js';
import { within } from './within.js';

/**
 * A part of a process with a life: constructed (nothing acquired) → started → drained (refuses new work, finishes old) →
 * stopped (released). Every step is idempotent and takes no longer than the deadline that it is given.
 */
export interface Component {
  readonly name: string;
  start?(): Promise<void> | void;
  drain?(deadlineMs: number): Promise<void> | void;
  stop?(): Promise<void> | void;
}

/** Starts components in order, drains and stops them in reverse. One that fails to drain or stop does not keep the others. */
export class Supervisor {
  readonly #components: readonly Component[];
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(components: readonly Component[], clock: Clock, logger: Logger) {
    this.#components = components;
    this.#clock = clock;
    this.#logger = logger;
  }

  async start(): Promise<void> {
    for (const component of this.#components) await component.start?.();
  }

  async drain(deadlineMs: number): Promise<void> {
    const untilMs = this.#clock.nowMs() + deadlineMs;
    for (const component of this.#components.toReversed()) {
      const leftMs = Math.max(0, untilMs - this.#clock.nowMs());
      await this.#step(component, 'drain', leftMs, () => component.drain?.(leftMs));
    }
  }

  async stop(deadlineMs = 2000): Promise<void> {
    const untilMs = this.#clock.nowMs() + deadlineMs;
    for (const component of this.#components.toReversed()) {
      await this.#step(component, 'stop', Math.max(0, untilMs - this.#clock.nowMs()), () => component.stop?.());
    }
  }

  async #step(component: Component, step: string, deadlineMs: number, run: () => Promise<void> | void): Promise<void> {
    try {
      const done = Promise.resolve(run()).then(() => true);
      const isInTime = await within(this.#clock, deadlineMs, done);
      if (!isInTime) this.#logger.warn({ component: component.name, step, deadlineMs }, 'component missed its deadline');
    } catch (error) {
      this.#logger.warn({ component: component.name, step, error }, 'component failed to end cleanly');
    }
  }
}
