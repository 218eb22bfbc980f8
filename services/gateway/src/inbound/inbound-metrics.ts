import { type ClientFrameType, FRAME_ERROR_CODES, type FrameErrorCode } from '@event-gateway/protocol';
import type { Counter, Metrics } from '@event-gateway/runtime';

/** `other`: the frame was turned away before its type was known, or has none that is known. */
export type InboundType = ClientFrameType | 'other';

/** `ok`: handed to its handler. `refused`, `unavailable`: a token that is not accepted, or cannot be judged now. Else the error's code. */
export type InboundOutcome = 'ok' | 'refused' | 'unavailable' | FrameFault;
type FrameFault = Exclude<FrameErrorCode, 'sync_unavailable' | 'sync_in_progress'>;

const types: readonly InboundType[] = ['ping', 'typing', 'sync', 'auth', 'other'];
const outcomes: readonly InboundOutcome[] = ['ok', 'refused', 'unavailable', ...FRAME_ERROR_CODES.filter(isFrameFault)];

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

/** What a sync ends with is counted there. */
function isFrameFault(code: FrameErrorCode): code is FrameFault {
  return code !== 'sync_unavailable' && code !== 'sync_in_progress';
}
