// One process of the load generator: groups of clients that connect, count, and say what they have counted.
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { serveParent } from '../processes/serve-parent.js';
import { ClientGroup } from './client-group.js';
import { LoadClient } from './load-client.js';
import type { ConnectRequest, LoadCalls } from './load-calls.js';
import { protocols } from './protocols/protocols.js';

const groups = new Map<string, ClientGroup>();

function groupOf(name: string): ClientGroup {
  const group = groups.get(name);
  if (group === undefined) throw new Error(`there is no group ${name}`);
  return group;
}

async function connectUsers({
  group: name,
  protocol,
  port,
  users,
  concurrency,
  localAddress,
  followsCursors,
}: ConnectRequest): Promise<void> {
  const group = groups.get(name) ?? new ClientGroup(protocols[protocol], followsCursors);
  groups.set(name, group);
  const rest = users.values();
  const openOneAfterAnother = async (): Promise<void> => {
    for (const user of rest) {
      const opening = await new LoadClient(group, user, { port, localAddress }, undefined).opened();
      if (opening.outcome !== 'open') throw new Error(`${name}: ${user.id} could not connect: ${JSON.stringify(opening)}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, openOneAfterAnother));
}

serveParent<LoadCalls>({
  connect: async (request) => {
    await connectUsers(request);
    return undefined;
  },
  reset: ({ group, measuresLatency }) => {
    groupOf(group).reset(measuresLatency);
    return undefined;
  },
  counts: ({ group }) => groupOf(group).counts(),
  latencies: ({ group }) => {
    const histogram = groupOf(group).latencies();
    if (histogram === undefined) throw new Error(`${group} measures no latency`);
    return encodeIntoCompressedBase64(histogram);
  },
  close: ({ group }) => {
    groups.get(group)?.close();
    groups.delete(group);
    return undefined;
  },
});
