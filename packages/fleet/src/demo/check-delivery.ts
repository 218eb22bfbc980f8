import type { Fleet } from '../fleet.js';
import type { RecordedFrame, RecordingClient } from '../tools/recording-client.js';

const author = 'alice';
const readers = ['alice', 'bob'];

/**
 * The main job once, as a user would see it: a message posted to the messenger's API arrives, over wss and through nginx, at sockets
 * on every replica. Says what it saw by `say`. @throws when it does not
 */
export async function checkDelivery(fleet: Fleet, say: (line: string) => void): Promise<void> {
  const clients = await connectToEveryReplica(fleet);
  for (const client of clients) say(`socket of ${String(hello(client)['user_id'])} on ${replicaOf(client)}, over ${fleet.nginx.wsUrl}`);
  const token = await fleet.sandbox.login(author);
  const group = await findGroup(fleet, token);
  const text = `Hello from ${author} at ${new Date().toISOString()}`;
  await fleet.sandbox.call('POST', `/api/conversations/${encodeURIComponent(group)}/messages`, { text }, token);
  say(`${author} posted to ${group}: ${text}`);
  await Promise.all(
    clients.map(async (client) => {
      const frame = await client.waitFor((candidate) => candidate.type === 'message.new' && textOf(candidate) === text);
      say(`${replicaOf(client)} → ${String(hello(client)['user_id'])}: ${JSON.stringify(frame)}`);
    }),
  );
  for (const client of clients) client.terminate();
}

/** nginx decides where a socket lands, so sockets are opened until every replica has one of each reader, within reason. */
async function connectToEveryReplica(fleet: Fleet): Promise<RecordingClient[]> {
  const clients: RecordingClient[] = [];
  const covered = new Set<string>();
  for (let tries = 0; covered.size < fleet.replicas.length && tries < 10; tries++) {
    for (const reader of readers) clients.push(await fleet.connect(reader));
    for (const client of clients) covered.add(replicaOf(client));
  }
  if (covered.size < fleet.replicas.length) throw new Error(`sockets landed on ${[...covered].join(', ')} only`);
  return clients;
}

async function findGroup(fleet: Fleet, token: string): Promise<string> {
  const answer = await fleet.sandbox.call('GET', '/api/conversations', undefined, token);
  const conversations = typeof answer === 'object' && answer !== null && 'conversations' in answer ? answer.conversations : undefined;
  const list: unknown[] = Array.isArray(conversations) ? conversations : [];
  for (const conversation of list) {
    const fields = new Map<string, unknown>(Object.entries(conversation ?? {}));
    if (fields.get('type') === 'group') return String(fields.get('conversation_id'));
  }
  throw new Error(`${author} is in no group: ${JSON.stringify(answer)}`);
}

function hello(client: RecordingClient): RecordedFrame {
  const [frame] = client.ofType('hello');
  if (frame === undefined) throw new Error('a socket without hello');
  return frame;
}

function replicaOf(client: RecordingClient): string {
  return String(hello(client)['replica_id']);
}

function textOf(frame: RecordedFrame): unknown {
  const { message } = frame;
  return typeof message === 'object' && message !== null && 'text' in message ? message.text : undefined;
}
