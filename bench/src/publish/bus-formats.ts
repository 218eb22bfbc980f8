import { encodeEnvelope } from '@event-gateway/publisher';
import type { BenchEvent } from '../workload/workload.js';
import { redisCommand } from './redis-command.js';

/**
 * The Redis command with which each system's own publisher would say an event. What reaches the client of a peer is the envelope as
 * it is, so no peer pays for names and titles that the gateway merges in.
 */
export const busFormats = {
  gateway: ({ recipients, envelope }: BenchEvent, maxLen: number): Buffer => {
    const { type, event_id, conversation_id, occurred_at, payload } = envelope;
    const encoded = encodeEnvelope({
      ...{ type, recipients, payload },
      ...{ eventId: event_id, conversationId: conversation_id, occurredAt: occurred_at },
    });
    const fields = ['recipients', encoded.recipients, 'envelope', encoded.envelope];
    return redisCommand('XADD', 'messenger.events', 'MAXLEN', '~', String(maxLen), '*', ...fields);
  },

  /** What `io.to(rooms).emit('event', envelope)` writes on another server of the cluster. */
  'socket-io': ({ recipients, envelope }: BenchEvent, maxLen: number): Buffer => {
    const packet = { type: 2, data: ['event', envelope] };
    const data = JSON.stringify({ packet, opts: { rooms: recipients, except: [], flags: {} } });
    const fields = ['uid', 'publisher', 'nsp', '/', 'type', '3', 'data', data];
    return redisCommand('XADD', 'socket.io', 'MAXLEN', '~', String(maxLen), '*', ...fields);
  },

  plain: ({ recipients, envelope }: BenchEvent): Buffer => redisCommand('PUBLISH', 'events', JSON.stringify({ recipients, envelope })),

  centrifugo: ({ recipients, envelope }: BenchEvent, maxLen: number): Buffer => {
    const fields = ['payload', JSON.stringify(envelope), 'channels', recipients.map((user) => `personal:#${user}`).join(',')];
    return redisCommand('XADD', 'events', 'MAXLEN', '~', String(maxLen), '*', ...fields);
  },
};

export type BusFormat = keyof typeof busFormats;
