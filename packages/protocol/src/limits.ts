/** What a client may send; the defaults of contract and configuration. Sizes count bytes, rates frames. */
export const FRAME_LIMITS = {
  maxFrameBytes: 65_536,
  /** Nesting of objects and arrays; the frame's own object counts 1. */
  maxDepth: 32,
  framesPerSecond: 20,
  burstFrames: 40,
  /** That many violations within the window close the connection. */
  maxViolations: 5,
  violationWindowMs: 60_000,
} as const;

/** The longest `ref` of a sync, in UTF-16 units. */
export const MAX_REF_UNITS = 128;

/** The longest page token of the messenger, in UTF-16 units: a client must be able to send it back in one frame. */
export const MAX_PAGE_TOKEN_UNITS = 4096;

/** The largest `envelope` field and the largest `recipients` field of a bus entry, inclusive. */
export const MAX_ENTRY_BYTES = 1_048_576;

/** The longest reason of a close frame: RFC 6455 leaves 125 bytes, two of which are the code. */
export const MAX_CLOSE_REASON_BYTES = 123;

/** The codes that an application may choose for `disconnect`. */
export const APPLICATION_CLOSE_CODES = { min: 4000, max: 4999 } as const;

/** How many users one presence query may name. */
export const MAX_PRESENCE_QUERY_USERS = 1000;
