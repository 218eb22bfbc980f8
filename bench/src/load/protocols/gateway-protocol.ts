import type { ClientProtocol } from './client-protocol.js';

const type = /^\{"type":"([^"]+)"/;

export const gatewayProtocol: ClientProtocol = {
  path: ({ token }, cursor) => `/api/v1/ws?token=${token}${cursor === undefined ? '' : `&cursor=${cursor}`}`,
  opensOn: 'message',
  eventPrefix: Buffer.from('{"type":"message.new"'),
  answer: (text) => {
    const name = type.exec(text)?.[1] ?? 'unknown';
    if (name !== 'hello') return { kind: 'other', name };
    return { kind: 'opened', how: text.includes('"resumed":true') ? 'resumed' : 'not resumed' };
  },
  heartbeat: { text: '{"type":"ping"}', everyMs: 20_000 },
};
