/** How much of everything: a run that can be believed, or one that only shows that it works. */
export interface Sizes {
  readonly repetitions: number;
  readonly skip: { readonly held: number; readonly drained: number; readonly liveEventsPerS: number; readonly liveMs: number };
  /** Each cell: sockets that are connected, sockets that get one event, different conversations, events of one drain. */
  readonly fanout: readonly FanoutCell[];
  readonly latency: {
    readonly sockets: number;
    readonly conversations: number;
    readonly durationMs: number;
    readonly cells: readonly { readonly eventsPerS: number; readonly k: number }[];
  };
  readonly ramp: {
    readonly sockets: number;
    readonly conversations: number;
    readonly k: number;
    readonly repetitions: number;
    readonly fromEventsPerS: number;
    readonly mostEventsPerS: number;
    readonly factor: number;
    readonly stepMs: number;
    readonly refinements: number;
  };
  readonly growth: {
    readonly held: readonly number[];
    readonly active: number;
    readonly k: number;
    readonly ks: readonly number[];
    readonly frames: number;
  };
  readonly idle: { readonly counts: readonly number[]; readonly peersUpTo: number; readonly warmUp: number; readonly settleMs: number };
  readonly reconnect: {
    readonly clients: number;
    readonly bystanders: number;
    readonly upgradesPerS: number;
    readonly jitterMs: number;
    readonly eventsPerS: number;
  };
  readonly storm: {
    readonly clients: number;
    /** Connected to the replica that stays. */
    readonly observers: number;
    readonly conversations: number;
    readonly eventsPerS: number;
    readonly quietMs: number;
    readonly upgradesPerS: number;
    readonly burst: number;
    readonly jitterMs: number;
    readonly hastyMs: number;
  };
  readonly presence: { readonly users: number; readonly renewMs: number; readonly windowMs: number };
  readonly replicas: {
    readonly counts: readonly number[];
    readonly usersEach: number;
    readonly events: number;
    readonly k: number;
    readonly eventsPerS: number;
    readonly liveMs: number;
  };
  readonly enrichment: {
    readonly sockets: number;
    readonly conversations: number;
    readonly k: number;
    readonly eventsPerS: number;
    readonly durationMs: number;
  };
  readonly lag: {
    readonly sockets: number;
    readonly k: number;
    readonly calmEventsPerS: number;
    readonly burstEventsPerS: number;
    readonly calmMs: number;
    readonly burstMs: number;
    readonly pauseMs: number;
  };
}

export interface FanoutCell {
  readonly sockets: number;
  readonly k: number;
  readonly conversations: number;
  readonly events: number;
}

export const fullSizes: Sizes = {
  repetitions: 3,
  skip: { held: 1000, drained: 200_000, liveEventsPerS: 8000, liveMs: 4000 },
  fanout: [
    { sockets: 1000, k: 2, conversations: 2000, events: 60_000 },
    { sockets: 1000, k: 20, conversations: 500, events: 20_000 },
    { sockets: 1000, k: 200, conversations: 100, events: 2000 },
    { sockets: 5000, k: 2, conversations: 5000, events: 40_000 },
    { sockets: 5000, k: 20, conversations: 1000, events: 10_000 },
    { sockets: 5000, k: 200, conversations: 200, events: 1000 },
    { sockets: 5000, k: 5000, conversations: 4, events: 60 },
  ],
  latency: {
    ...{ sockets: 1000, conversations: 500, durationMs: 8000 },
    cells: [
      { eventsPerS: 1500, k: 20 },
      { eventsPerS: 8800, k: 2 },
    ],
  },
  ramp: {
    ...{ sockets: 1000, conversations: 500, k: 20, repetitions: 2 },
    ...{ fromEventsPerS: 1500, mostEventsPerS: 40_000, factor: 1.5, stepMs: 2500, refinements: 2 },
  },
  growth: { held: [1000, 10_000], active: 1000, k: 20, ks: [1, 2, 5, 20, 100, 500], frames: 300_000 },
  idle: { counts: [10_000, 18_700], peersUpTo: 10_000, warmUp: 1000, settleMs: 10_000 },
  reconnect: { clients: 10_000, bystanders: 1000, upgradesPerS: 2000, jitterMs: 5000, eventsPerS: 200 },
  // The accept rate and the client's first wait are the defaults of both.
  storm: {
    ...{ clients: 10_000, observers: 500, conversations: 200, eventsPerS: 500, quietMs: 12_000 },
    ...{ upgradesPerS: 500, burst: 1000, jitterMs: 5000, hastyMs: 500 },
  },
  presence: { users: 10_000, renewMs: 20_000, windowMs: 40_000 },
  replicas: { counts: [1, 2, 4, 8], usersEach: 100, events: 100_000, k: 20, eventsPerS: 1000, liveMs: 5000 },
  enrichment: { sockets: 1000, conversations: 200, k: 20, eventsPerS: 300, durationMs: 5000 },
  lag: { sockets: 1000, k: 20, calmEventsPerS: 500, burstEventsPerS: 5000, calmMs: 12_000, burstMs: 6000, pauseMs: 3000 },
};

export const smokeSizes: Sizes = {
  repetitions: 1,
  skip: { held: 20, drained: 1000, liveEventsPerS: 500, liveMs: 200 },
  fanout: [
    { sockets: 20, k: 2, conversations: 10, events: 100 },
    { sockets: 20, k: 20, conversations: 2, events: 50 },
  ],
  latency: { sockets: 20, conversations: 5, durationMs: 200, cells: [{ eventsPerS: 200, k: 2 }] },
  ramp: {
    ...{ sockets: 20, conversations: 5, k: 2, repetitions: 1 },
    ...{ fromEventsPerS: 100, mostEventsPerS: 100, factor: 2, stepMs: 200, refinements: 1 },
  },
  growth: { held: [20, 40], active: 20, k: 5, ks: [1, 5], frames: 100 },
  idle: { counts: [40], peersUpTo: 40, warmUp: 10, settleMs: 100 },
  reconnect: { clients: 40, bystanders: 10, upgradesPerS: 200, jitterMs: 300, eventsPerS: 50 },
  storm: {
    ...{ clients: 40, observers: 10, conversations: 5, eventsPerS: 50, quietMs: 300 },
    ...{ upgradesPerS: 50, burst: 20, jitterMs: 200, hastyMs: 20 },
  },
  presence: { users: 40, renewMs: 200, windowMs: 400 },
  replicas: { counts: [1, 2], usersEach: 10, events: 200, k: 5, eventsPerS: 50, liveMs: 200 },
  enrichment: { sockets: 20, conversations: 5, k: 5, eventsPerS: 50, durationMs: 300 },
  lag: { sockets: 20, k: 5, calmEventsPerS: 100, burstEventsPerS: 500, calmMs: 800, burstMs: 300, pauseMs: 300 },
};

/** The same with fewer events and less time, e.g. a fifth: for a quick look at one change. */
export function scaleSizes(sizes: Sizes, factor: number): Sizes {
  const scaled = (count: number): number => Math.max(1, Math.round(count * factor));
  return {
    ...sizes,
    skip: { ...sizes.skip, drained: scaled(sizes.skip.drained), liveMs: scaled(sizes.skip.liveMs) },
    fanout: sizes.fanout.map((cell) => ({ ...cell, events: scaled(cell.events) })),
    latency: { ...sizes.latency, durationMs: scaled(sizes.latency.durationMs) },
    ramp: { ...sizes.ramp, stepMs: scaled(sizes.ramp.stepMs) },
    growth: { ...sizes.growth, frames: scaled(sizes.growth.frames) },
    replicas: { ...sizes.replicas, events: scaled(sizes.replicas.events) },
  };
}
