import {
  APPLICATION_CLOSE_CODES,
  asUserId,
  CLOSE_CODES,
  type ControlMessage,
  isApplicationCloseCode,
  isCloseReason,
  MAX_CLOSE_REASON_BYTES,
} from '@event-gateway/protocol';
import { RedisUnavailableError } from '@event-gateway/redis';
import type { Logger } from '@event-gateway/runtime';
import { type Answer, json, refused } from './answer.js';
import { readJsonObject } from './read-json-object.js';
import type { RouteRequest } from './router.js';

/** How a message reaches every replica, this one included. Rejects when Redis cannot be reached. */
export type PublishControl = (message: ControlMessage) => Promise<void>;

/** `POST /internal/users/{id}/disconnect {code?, reason?}`: closes that user's sockets on every replica. */
export function disconnectRoute(publish: PublishControl, logger: Logger): (request: RouteRequest) => Promise<Answer> {
  return async ({ params, message }) => {
    const userId = asUserId(params[0]);
    if (userId === undefined) return refused('bad_request', 'the path must name a valid user id');
    const body = await readJsonObject(message);
    if (!('fields' in body)) return body;
    const { code = CLOSE_CODES.administrator.code, reason = 'administrator' } = body.fields;
    if (!isApplicationCloseCode(code)) {
      return refused('bad_request', `code must be from ${APPLICATION_CLOSE_CODES.min} to ${APPLICATION_CLOSE_CODES.max}`);
    }
    if (!isCloseReason(reason)) return refused('bad_request', `reason must be a text of at most ${MAX_CLOSE_REASON_BYTES} bytes`);
    try {
      await publish({ op: 'disconnect', userId, code, reason });
    } catch (error) {
      if (error instanceof RedisUnavailableError) return refused('redis_unavailable', 'the other replicas cannot be told now');
      throw error;
    }
    logger.info({ code }, 'administrator disconnects a user');
    return json(202, {});
  };
}
