/** What happened to a frame: `sent` to the kernel, `buffered` by the transport, or `dropped` because its own limit was reached. */
export type SendVerdict = 'sent' | 'buffered' | 'dropped';

/** One WebSocket as the rest of the gateway sees it. Nothing may be called after `end`, or after the transport said it closed. */
export interface Socket {
  send(frame: Uint8Array | string): SendVerdict;
  /** Bytes that the transport holds because the kernel does not take them. */
  bufferedBytes(): number;
  /** Frames written inside leave in one packet. */
  cork(write: () => void): void;
  ping(): void;
  /** Sends a close frame and ends the connection; one that takes nothing is cut after a moment. */
  end(code: number, reason: string): void;
}
