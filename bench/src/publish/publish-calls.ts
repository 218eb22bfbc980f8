import type { Workload } from '../workload/workload.js';
import type { BusFormat } from './bus-formats.js';

export interface PrepareRequest {
  /** Names what the other calls speak of. */
  readonly source: string;
  readonly redisPort: number;
  readonly format: BusFormat;
  readonly workload: Workload;
  /** Different events that are encoded beforehand and published in turn. */
  readonly poolEvents: number;
  /** Streams keep about this many entries. */
  readonly maxLen: number;
}

export interface PacedRequest {
  readonly source: string;
  readonly eventsPerS: number;
  readonly durationMs: number;
  /** Of the arrivals: every system gets the same ones. */
  readonly seed: number;
}

export interface PacedReply {
  readonly events: number;
  /** How late events went out against their schedule, in microseconds. It is part of every latency, since they carry the planned time. */
  readonly lateP50Us: number;
  readonly lateP99Us: number;
}

export type PublishCalls = {
  readonly prepare: { readonly request: PrepareRequest; readonly reply: undefined };
  /** As many as fast as Redis takes them; resolves when it has them all. `thenTo`: one more, for these users. */
  readonly burst: {
    readonly request: { readonly source: string; readonly events: number; readonly thenTo?: readonly string[] };
    readonly reply: undefined;
  };
  /** Poisson arrivals; events carry the time at which they were due. */
  readonly paced: { readonly request: PacedRequest; readonly reply: PacedReply };
  /** Ends what `paced` is doing, if anything. */
  readonly halt: { readonly request: { readonly source: string }; readonly reply: undefined };
  readonly forget: { readonly request: { readonly source: string }; readonly reply: undefined };
};
