import { streamIdMs, type StreamId } from '@event-gateway/protocol';
import { type CommandRedis, decodeScriptNumber, decodeScriptReply, keys, LuaScript, RedisUnavailableError } from '@event-gateway/redis';
import { type Clock, type Logger, runLoop } from '@event-gateway/runtime';
import { decodeStreamId } from './decode-stream-id.js';
import type { EpochSighting } from './epoch.js';
import type { Lag } from './stream-metrics.js';

const lagFigures = LuaScript.load(new URL('./scripts/lag-figures.lua', import.meta.url));

/** Figures at most this old are on the metrics page and in the registry. */
const probeEveryMs = 1000;
/** Until reading has begun, so that the first figures come with it. */
const waitEveryMs = 50;

const figureNames = ['entries', 'pending', 'oldestId', 'nowMs'] as const;
const replyNames = [...figureNames, 'id', 'barrier', 'floor'] as const;

export interface LagProbeOptions {
  readonly stream: string;
  readonly group: string;
}

export interface LagProbeDeps {
  readonly redis: CommandRedis;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The last id that was handled; undefined before reading begins. */
  readonly handledId: () => StreamId | undefined;
  /** Undefined: Redis cannot be asked. */
  readonly onLag: (lag: Lag | undefined) => void;
  readonly onEpoch: (epoch: EpochSighting) => void;
}

/** Asks now and then how late this replica is, and whether someone has begun a new epoch. */
export class LagProbe {
  readonly #deps: LagProbeDeps;
  readonly #options: LagProbeOptions;

  constructor(deps: LagProbeDeps, options: LagProbeOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  run(signal: AbortSignal): Promise<void> {
    const { clock, logger, handledId } = this.#deps;
    const everyMs = (): number => (handledId() === undefined ? waitEveryMs : probeEveryMs);
    return runLoop({ name: 'lag probe', signal, clock, logger, everyMs }, () => this.#round());
  }

  async #round(): Promise<void> {
    try {
      await this.#probe();
    } catch (error) {
      this.#deps.onLag(undefined);
      if (!(error instanceof RedisUnavailableError)) throw error;
    }
  }

  async #probe(): Promise<void> {
    const { redis, handledId, onLag, onEpoch } = this.#deps;
    const { stream, group } = this.#options;
    const handled = handledId();
    if (handled === undefined) return onLag(undefined);
    const reply = await redis.runScript(lagFigures, [stream, keys.epoch(stream)], [group, handled]);
    const { id, barrier, floor, ...figures } = decodeScriptReply(lagFigures, reply, replyNames);
    onLag(decodeLag(figures));
    onEpoch({ id, barrier, floor });
  }
}

function decodeLag({ entries, pending, oldestId, nowMs }: Readonly<Record<(typeof figureNames)[number], string>>): Lag {
  const unread = decodeScriptNumber(lagFigures, entries);
  const now = decodeScriptNumber(lagFigures, nowMs);
  return {
    entries: unread < 0 ? undefined : unread,
    // An id may lie in the future of Redis's clock.
    seconds: oldestId === '' ? 0 : Math.max(0, now - streamIdMs(decodeStreamId(lagFigures, oldestId))) / 1000,
    pending: decodeScriptNumber(lagFigures, pending),
  };
}
