/** How much of everything: a run that can be believed, or one that only shows that it works. */
export interface Sizes {
  readonly repetitions: number;
  readonly skip: { readonly held: number; readonly drained: number; readonly liveEventsPerS: number; readonly liveMs: number };
  /** Each cell: sockets that are connected, sockets that get one event, different conversations, events of one drain. */
  readonly fanout: readonly FanoutCell[];
}

export interface FanoutCell {
  readonly sockets: number;
  readonly k: number;
  readonly conversations: number;
  readonly events: number;
}

export const fullSizes: Sizes = {
  repetitions: 5,
  skip: { held: 1000, drained: 300_000, liveEventsPerS: 8000, liveMs: 5000 },
  fanout: [
    { sockets: 1000, k: 2, conversations: 2000, events: 60_000 },
    { sockets: 1000, k: 20, conversations: 500, events: 20_000 },
    { sockets: 1000, k: 200, conversations: 100, events: 2000 },
    { sockets: 5000, k: 2, conversations: 5000, events: 40_000 },
    { sockets: 5000, k: 20, conversations: 1000, events: 10_000 },
    { sockets: 5000, k: 200, conversations: 200, events: 1000 },
    { sockets: 5000, k: 5000, conversations: 4, events: 60 },
  ],
};

export const smokeSizes: Sizes = {
  repetitions: 1,
  skip: { held: 20, drained: 1000, liveEventsPerS: 500, liveMs: 200 },
  fanout: [
    { sockets: 20, k: 2, conversations: 10, events: 100 },
    { sockets: 20, k: 20, conversations: 2, events: 50 },
  ],
};

/** The same with fewer events and less time, e.g. a fifth: for a quick look at one change. */
export function scaleSizes(sizes: Sizes, factor: number): Sizes {
  const scaled = (count: number): number => Math.max(1, Math.round(count * factor));
  return {
    ...sizes,
    skip: { ...sizes.skip, drained: scaled(sizes.skip.drained), liveMs: scaled(sizes.skip.liveMs) },
    fanout: sizes.fanout.map((cell) => ({ ...cell, events: scaled(cell.events) })),
  };
}
