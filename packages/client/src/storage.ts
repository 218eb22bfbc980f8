import type { ClientState } from './client-state.js';

/** Where a client's state is kept. `load` is called once, before the first connection; what it throws or rejects is reported. */
export interface StateStorage {
  load(): unknown;
  save(state: ClientState): void | Promise<void>;
}
