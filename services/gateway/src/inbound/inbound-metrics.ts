import type { ClientFrameType, FrameErrorCode } from '@event-gateway/protocol';
import type { Counter, Metrics } from '@event-gateway/runtime';

/** `other`: the frame was turned away before its type was known, or has none that is known. */
export type InboundType = ClientFrameType | 'other';

/** `ok`: handed to its handler. `refused`, `unavailable`: a token that is not accepted, or cannot be judged now. Else the error's code. */
export type InboundOutcome = 'ok' | 'refused' | 'unavailable' | Exclude<FrameErrorCode, 'sync_unavailable' | 'sync_in_progress'>;

const types: readonly InboundType[] = ['ping', 'typing', 'sync', 'auth', 'other'];
const outcomes: readonly InboundOutcome[] = [
  'ok',
  'refused',
  'unavailable',
  'bad_json',
  'bad_frame',
  'unknown_type',
  'too_deep',
  'too_big',
  'binary',
  'rate_limited',
];

/** What clients sent. */
export class InboundMetrics {
  readonly #frames: Counter;

  constructor(metrics: Metrics) {
    this.#frames = metrics.counter('gateway_inbound_frames_total', 'Frames from clients, by type and outcome.', {
      labels: { type: types, outcome: outcomes },
    });
  }

  received(type: InboundType, outcome: InboundOutcome): void {
    this.#frames.add(1, { type, outcome });
  }
}
