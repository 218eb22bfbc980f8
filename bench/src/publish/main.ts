// The publisher's process.
import { serveParent } from '../processes/serve-parent.js';
import { EventSource } from './event-source.js';
import type { PublishCalls } from './publish-calls.js';

const sources = new Map<string, EventSource>();

function sourceOf(name: string): EventSource {
  const source = sources.get(name);
  if (source === undefined) throw new Error(`there is no source ${name}`);
  return source;
}

serveParent<PublishCalls>({
  prepare: async (request) => {
    sources.get(request.source)?.close();
    sources.set(request.source, await EventSource.open(request));
    return undefined;
  },
  burst: async ({ source, events, thenTo }) => {
    await sourceOf(source).burst(events, thenTo);
    return undefined;
  },
  paced: (request) => sourceOf(request.source).paced(request),
  halt: ({ source }) => {
    sourceOf(source).halt();
    return undefined;
  },
  forget: ({ source }) => {
    sources.get(source)?.close();
    sources.delete(source);
    return undefined;
  },
});
