/**
 * What a page hears about its own life:
 * - `offline` / `online`: the machine's network
 * - `wake`: seen again, thawed, or back from the page cache
 * - `rest`: hidden; it may never be asked again, so what must be kept is kept now
 * - `freeze`: no code will run from here on until `wake`
 */
export type PageSignal = 'online' | 'offline' | 'wake' | 'rest' | 'freeze';

export interface PageSignals {
  isOffline(): boolean;
  isHidden(): boolean;
  /** Returns the way to stop listening. */
  listen(heard: (signal: PageSignal) => void): () => void;
}

/** undefined where there is no page (Node, workers): then nothing ever pauses. */
export function browserPageSignals(): PageSignals | undefined {
  if (typeof window === 'undefined' || typeof document === 'undefined') return undefined;
  return { isOffline: () => navigator.onLine === false, isHidden: () => document.hidden, listen };
}

function listen(heard: (signal: PageSignal) => void): () => void {
  const stop = new AbortController();
  const on = (target: EventTarget, type: string, signalOf: (isPersisted: boolean) => PageSignal): void => {
    const listener = (event: Event): void => heard(signalOf('persisted' in event && event.persisted === true));
    target.addEventListener(type, listener, { signal: stop.signal });
  };
  on(window, 'online', () => 'online');
  on(window, 'offline', () => 'offline');
  on(window, 'pageshow', () => 'wake');
  // A page with an open socket is kept out of the page cache, or loses the socket there: it is given up in order.
  on(window, 'pagehide', (isPersisted) => (isPersisted ? 'freeze' : 'rest'));
  on(document, 'visibilitychange', () => (document.hidden ? 'rest' : 'wake'));
  on(document, 'freeze', () => 'freeze');
  on(document, 'resume', () => 'wake');
  return () => stop.abort();
}
