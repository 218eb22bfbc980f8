type Listener = (payload: never, meta: never) => void;

/** A listener that throws costs neither the other listeners nor the client: its error surfaces on its own, as an uncaught one. */
export class Emitter {
  readonly #listeners = new Map<string, Set<Listener>>();

  /** Returns the way to take the listener off again. */
  on(type: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  emit(type: string, payload: unknown, meta?: unknown): void {
    for (const listener of [...(this.#listeners.get(type) ?? [])]) {
      try {
        Reflect.apply(listener, undefined, [payload, meta]);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
