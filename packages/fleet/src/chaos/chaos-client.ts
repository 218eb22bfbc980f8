import type { Application } from './application.js';
import type { FrameAudit } from './frame-audit.js';

/** One client of a run. It comes back by itself, on the next replica each time, until it is stopped. */
export interface ChaosClient {
  readonly name: string;
  readonly userId: string;
  readonly application: Application;
  readonly audit: FrameAudit;
  start(): void;
  stop(): void;
}

export interface ChaosClientOptions {
  readonly name: string;
  readonly userId: string;
  readonly token: string;
  /** Of the replicas, in the order in which this client tries them. */
  readonly urls: readonly string[];
  readonly application: Application;
  readonly audit: FrameAudit;
  /** The other side has ended the connection to this URL. */
  readonly onClosed: (url: string, code: number) => void;
}

/** A replica that does not answer within this time is given up: it hangs, or is starved for a moment. */
export const connectTimeoutMs = 3000;
export const firstRetryMs = 100;
export const longestRetryMs = 1000;
