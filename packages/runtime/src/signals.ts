export interface StopSignals {
  /** Resolves with the first SIGTERM or SIGINT. */
  readonly first: Promise<NodeJS.Signals>;
  /** Resolves with the second one: the operator does not want to wait. */
  readonly second: Promise<NodeJS.Signals>;
}

/** Listens for the signals that end a process. */
export function listenForStopSignals(): StopSignals {
  const arrived: ((signal: NodeJS.Signals) => void)[] = [];
  const next = (): Promise<NodeJS.Signals> => new Promise((resolve) => arrived.push(resolve));
  const signals = { first: next(), second: next() };
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => arrived.shift()?.(name));
  return signals;
}
