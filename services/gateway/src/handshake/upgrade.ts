import { asStreamId, isStreamId, type StreamId, type UserId } from '@event-gateway/protocol';
import type { Admission, Place } from './admission.js';
import type { Authenticator, Identity } from './authenticate.js';
import { extractToken } from './extract-token.js';
import type { HandshakeMetrics } from './handshake-metrics.js';
import { queryParameter } from './query-parameter.js';
import type { Refusal } from './refusal.js';

/** The parts of an upgrade request that matter, copied. An empty text is an absent header. */
export interface UpgradeRequest {
  readonly query: string;
  readonly authorization: string;
  readonly subprotocols: string;
  readonly origin: string;
}

/** An upgrade that was granted: who it is for, and the place that it holds until its socket is counted. */
export interface Grant {
  readonly userId: UserId;
  /** Unix ms. */
  readonly expiresAtMs: number;
  /** What the client sent as its cursor, whatever that is. */
  readonly cursor: string | undefined;
  readonly subprotocol: 'bearer' | undefined;
  readonly place: Place;
}

/** A socket's first decision, in the order of cost: room and rate, origin, then the token. Everything before the upgrade. */
export class Upgrade {
  readonly #admission: Admission;
  readonly #authenticator: Pick<Authenticator, 'authenticate'>;
  readonly #metrics: HandshakeMetrics;

  constructor(admission: Admission, authenticator: Pick<Authenticator, 'authenticate'>, metrics: HandshakeMetrics) {
    this.#admission = admission;
    this.#authenticator = authenticator;
    this.#metrics = metrics;
  }

  /** A promise only when the token's key has to be asked for: a storm must not cost a promise each. */
  decide(request: UpgradeRequest): Refusal | Grant | Promise<Refusal | Grant> {
    const place = this.#admission.reserve(request.origin);
    if ('status' in place) return this.#refused(place);
    const { token, subprotocol } = extractToken(request);
    const cursor = queryParameter(request.query, 'cursor');
    const settle = (identity: Identity | Refusal): Refusal | Grant => {
      if (!('status' in identity)) return { ...identity, cursor, subprotocol, place };
      place.release();
      return this.#refused(identity);
    };
    const identity = this.#authenticator.authenticate(token);
    if (!(identity instanceof Promise)) return settle(identity);
    return identity.then((judged) => settle(this.#admission.refusalAfterAll() ?? judged));
  }

  #refused(refusal: Refusal): Refusal {
    this.#metrics.refused(refusal.code);
    return refusal;
  }
}

/**
 * The client's cursor where it is one. A copy: a part of a text keeps the whole of it in memory, and the connection would hold the query,
 * with the token in it, for as long as it lives.
 */
export function cursorOf({ cursor }: Grant): StreamId | undefined {
  return isStreamId(cursor) ? asStreamId(Buffer.from(cursor, 'latin1').toString('latin1')) : undefined;
}
