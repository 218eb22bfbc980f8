import { isStreamId, type StreamId } from '@event-gateway/protocol';
import { type LuaScript, UnexpectedReplyError } from '@event-gateway/redis';

/** An id as a script replied it. @throws UnexpectedReplyError */
export function decodeStreamId(script: LuaScript, text: string): StreamId {
  if (!isStreamId(text)) throw new UnexpectedReplyError(script.name);
  return text;
}
