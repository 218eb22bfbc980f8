import type { GroupCounts } from './client-group.js';
import type { LoadUser } from './protocols/client-protocol.js';
import type { ProtocolName } from './protocols/protocols.js';
import type { ReconnectCounts, ReconnectPolicy } from './reconnecting.js';

export interface ConnectRequest {
  readonly group: string;
  readonly protocol: ProtocolName;
  readonly port: number;
  readonly users: readonly LoadUser[];
  /** Openings under way at once. */
  readonly concurrency: number;
  readonly localAddress: string;
  readonly isTls: boolean;
  readonly followsCursors: boolean;
}

/** What a process of the load generator can be asked. A group exists from its first `connect` to its `close`. */
export type LoadCalls = {
  /** Adds users to a group; who is told to come later does. Fails when one of them can't connect. */
  readonly connect: { readonly request: ConnectRequest; readonly reply: undefined };
  readonly reset: { readonly request: { readonly group: string; readonly measuresLatency: boolean }; readonly reply: undefined };
  readonly counts: { readonly request: { readonly group: string }; readonly reply: GroupCounts };
  /** The histogram of latencies in microseconds since the last reset, in HdrHistogram's own compressed form. */
  readonly latencies: { readonly request: { readonly group: string }; readonly reply: string };
  /** From now on clients of the group that lose their connection come back. */
  readonly comeBack: { readonly request: { readonly group: string; readonly policy: ReconnectPolicy }; readonly reply: undefined };
  readonly reconnects: { readonly request: { readonly group: string }; readonly reply: ReconnectCounts };
  readonly close: { readonly request: { readonly group: string }; readonly reply: undefined };
};
