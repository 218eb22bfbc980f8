import type { ClientProtocol } from './client-protocol.js';

/** Its JSON protocol: `{}` is a ping and its answer, pushes are joined by line ends. */
export const centrifugoProtocol: ClientProtocol = {
  path: () => '/connection/websocket',
  greeting: ({ token }) => JSON.stringify({ id: 1, connect: { token } }),
  opensOn: 'message',
  eventPrefix: undefined,
  joinedPing: { marks: [Buffer.from('{}\n'), Buffer.from('\n{}')], reply: '{}' },
  answer: (text) => {
    if (text === '{}') return { kind: 'reply', text: '{}' };
    return text.includes('"connect":') ? { kind: 'opened' } : { kind: 'other', name: text.slice(0, 60) };
  },
};
