/** Every wait of a client, in milliseconds. The defaults fit the gateway's. */
export interface ClientTiming {
  /** The first retry comes within this time, so that ten thousand clients of a dead replica don't come back in one second. */
  readonly firstRetryMaxMs: number;
  /** The ceiling of the back-off doubles from here with every failure … */
  readonly backoffBaseMs: number;
  /** … up to here. */
  readonly backoffMaxMs: number;
  /** A connection that has lasted this long gives its credit back: the next retry is a first one. */
  readonly stableAfterMs: number;
  /** From the token to `hello`: what takes longer is given up and tried again. */
  readonly connectTimeoutMs: number;
  /** A ping that nothing has answered for this long means that the connection is dead. */
  readonly pongTimeoutMs: number;
  /** The same after a sleep or a change of network, when it probably is. */
  readonly probeTimeoutMs: number;
  /** A page that nobody has seen for this long does not reconnect until it is seen. */
  readonly hiddenPauseMs: number;
  /** How long a missing seq may be late (two writers of a messenger overtake each other) before a sync is asked for it. */
  readonly gapGraceMs: number;
  /** Everybody in a conversation sees the same gap: their syncs are spread over this time. */
  readonly gapSpreadMs: number;
  /** A sync that brings nothing for this long is asked again. */
  readonly syncPatienceMs: number;
  /** Messages wait this long for an earlier one, then they are handed out without it. */
  readonly holdMs: number;
  /** One `typing` per dialog and this time: the gateway drops what is more. */
  readonly typingEveryMs: number;
  /** Somebody who says nothing more for this long has stopped. */
  readonly typingExpiryMs: number;
  /** The state is stored at most this often; a hole that opens or closes, and a page that goes away, are stored at once. */
  readonly saveEveryMs: number;
  /** Without a connection for this long, everybody's presence is unknown. */
  readonly presenceExpiryMs: number;
}

export const DEFAULT_TIMING: ClientTiming = Object.freeze({
  // The gateway's RECONNECT_JITTER_MS.
  firstRetryMaxMs: 5_000,
  backoffBaseMs: 1_000,
  backoffMaxMs: 30_000,
  // Longer than any back-off: whoever is thrown out again and again does not start over each time.
  stableAfterMs: 30_000,
  connectTimeoutMs: 15_000,
  pongTimeoutMs: 10_000,
  probeTimeoutMs: 5_000,
  hiddenPauseMs: 600_000,
  gapGraceMs: 300,
  gapSpreadMs: 1_000,
  syncPatienceMs: 60_000,
  // The longest that `sync.required` spreads (5 s), and a sync.
  holdMs: 8_000,
  typingEveryMs: 2_000,
  typingExpiryMs: 3_000,
  saveEveryMs: 1_000,
  presenceExpiryMs: 30_000,
});
