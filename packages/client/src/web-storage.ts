import type { ClientState } from './client-state.js';

/** What `sessionStorage` and `localStorage` have in common. */
export interface WebStorageArea {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

/**
 * Keeps the state in a browser's storage, under one key per user. Which area is right depends on where the application keeps the
 * messages, for the state says that everything up to it is there:
 * - in this tab's own storage: `sessionStorage`. It survives a reload, each tab has its own, and a duplicated tab gets a copy.
 * - in a database that all tabs share (IndexedDB): `localStorage`. The last tab to write wins, and every write is whole in itself,
 *   so no tab can spoil another's; a tab reads it once, when it starts.
 * - in memory only: no storage at all. After a reload the first sync brings the dialogs again.
 */
export function webStorage(userId: string, area: WebStorageArea): { load(): unknown; save(state: ClientState): void } {
  const key = `event-gateway:${userId}`;
  return {
    load: (): unknown => {
      const text = area.getItem(key);
      return text === null ? undefined : JSON.parse(text);
    },
    save: (state) => area.setItem(key, JSON.stringify(state)),
  };
}
