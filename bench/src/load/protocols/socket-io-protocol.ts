import type { ClientProtocol } from './client-protocol.js';

/** Engine.IO 4 over WebSocket alone: `0` open, `2` ping, `3` pong, `40` connect, `42` event. */
export const socketIoProtocol: ClientProtocol = {
  path: () => '/socket.io/?EIO=4&transport=websocket',
  opensOn: 'message',
  eventPrefix: Buffer.from('42["event",'),
  answer: (text, { id }) => {
    if (text === '2') return { kind: 'reply', text: '3' };
    if (text.startsWith('0')) return { kind: 'reply', text: `40${JSON.stringify({ user: id })}` };
    return text.startsWith('40') ? { kind: 'opened' } : { kind: 'other', name: 'unknown' };
  },
};
