import type { ClientProtocol } from './client-protocol.js';

/** The naive server sends the envelope and nothing else. */
export const plainProtocol: ClientProtocol = {
  path: ({ id }) => `/?user=${id}`,
  opensOn: 'upgrade',
  eventPrefix: Buffer.from('{"type":"message.new"'),
  answer: () => ({ kind: 'other', name: 'unknown' }),
};
