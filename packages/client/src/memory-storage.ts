import type { ClientState } from './client-state.js';
import type { StateStorage } from './storage.js';

/** For tests, and for a state that outlives a client but not its process. */
export function memoryStorage(state?: ClientState): StateStorage {
  let stored = state;
  return {
    load: () => stored,
    save: (next) => {
      stored = next;
    },
  };
}
