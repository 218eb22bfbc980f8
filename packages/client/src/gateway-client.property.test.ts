import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FakeClock, settle } from '../test/fake-clock.js';
import { type FakeWebSocket, fakeWebSockets } from '../test/fake-web-socket.js';
import { type ModelConnection, ModelGateway } from '../test/model-gateway.js';
import type { MessageFrame } from './frames.js';
import { GatewayClient } from './gateway-client.js';
import { memoryStorage } from './memory-storage.js';
import { MessageStore } from './message-store.js';
import type { GatewayClientOptions } from './options.js';

/** The first sync brings these; the new one is met live, and begins with whatever is seen first. */
const KNOWN = ['c1', '__proto__'];
const CONVERSATIONS = [...KNOWN, 'new'];

const conversation = fc.constantFrom(...CONVERSATIONS);
const known = fc.constantFrom(...KNOWN);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('publish' as const), conversation }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('edit' as const), conversation, seq: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), conversation, seq: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('overtake' as const), conversation: known }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unpublished' as const), conversation: known }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hole' as const), conversation, count: fc.integer({ min: 0, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('trim' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flush' as const) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('deliver' as const), count: fc.integer({ min: 1, max: 8 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('answer' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cut' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('drain' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 4_000 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('messenger' as const), isDown: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pages' as const), events: fc.integer({ min: 1, max: 5 }), hasNext: fc.boolean() }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

class World {
  readonly gateway: ModelGateway;
  readonly clock = new FakeClock();
  readonly messages: MessageFrame[] = [];
  readonly stores: MessageStore[] = [];
  client: GatewayClient;
  readonly #options: Partial<GatewayClientOptions>;
  readonly #byConnection = new Map<FakeWebSocket, ModelConnection>();

  constructor(gateway: ModelGateway, options: Partial<GatewayClientOptions>) {
    this.gateway = gateway;
    for (const id of KNOWN) gateway.publish(gateway.newMessage(id));
    this.#options = options;
    this.client = this.start();
  }

  start(): GatewayClient {
    const { webSocket } = fakeWebSockets((socket) => queueMicrotask(() => this.#open(socket)));
    this.client = new GatewayClient({
      url: 'wss://chat.test/api/v1/ws',
      token: () => 'h.p.s',
      clock: this.clock,
      page: null,
      webSocket,
      random: () => 0.5,
      ...this.#options,
    });
    this.client.on('message', (frame) => this.messages.push(frame));
    this.stores.push(new MessageStore(this.client, 10_000));
    this.client.connect();
    return this.client;
  }

  #open(socket: FakeWebSocket): void {
    socket.readyState = 1;
    const connection = this.gateway.connect(
      { frame: (frame) => socket.frame(frame), close: (code) => socket.serverClose(code) },
      socket.cursor,
    );
    socket.onFrame = (frame) => connection.receive(frame);
    socket.onClientClose = () => connection.gone();
    this.#byConnection.set(socket, connection);
  }

  async do(step: Step): Promise<void> {
    const { gateway } = this;
    switch (step.do) {
      case 'publish':
        return gateway.publish(gateway.newMessage(step.conversation));
      case 'edit':
        return this.#publishIfAny(gateway.edit(step.conversation, step.seq));
      case 'remove':
        return this.#publishIfAny(gateway.remove(step.conversation, step.seq));
      case 'overtake': {
        const [first, second] = [gateway.newMessage(step.conversation), gateway.newMessage(step.conversation)];
        gateway.publish(second);
        return gateway.publish(first);
      }
      case 'unpublished':
        return void gateway.newMessage(step.conversation);
      case 'hole':
        for (let i = 0; i < step.count; i++) gateway.newMessage(step.conversation);
        if (step.count > 1) gateway.edit(step.conversation, 1);
        return gateway.gap();
      case 'trim':
        return gateway.trim();
      case 'flush':
        return gateway.flush();
      case 'deliver':
        for (const connection of gateway.connections) connection.deliver(step.count);
        return settle();
      case 'answer':
        for (const connection of gateway.connections) connection.answer();
        return settle();
      case 'cut':
        for (const connection of gateway.connections) connection.cut();
        return settle();
      case 'drain':
        for (const connection of gateway.connections) {
          connection.push({ type: 'reconnect', after_ms: 100, cursor: connection.queue.length === 0 ? gateway.cursor : undefined });
          connection.deliver();
          connection.cut(1012);
        }
        return settle();
      case 'wait':
        return this.clock.advance(step.ms);
      case 'messenger':
        gateway.isMessengerDown = step.isDown;
        return;
      case 'pages':
        gateway.pageEvents = step.events;
        gateway.hasNextToken = step.hasNext;
    }
  }

  #publishIfAny(frame: object | undefined): void {
    if (frame !== undefined) this.gateway.publish(frame);
  }

  /** Everything works from now on, and one last message per conversation shows what is missing. */
  async calm(): Promise<void> {
    this.gateway.isMessengerDown = false;
    this.gateway.pageEvents = 50;
    await this.#rest();
    for (const id of CONVERSATIONS) this.gateway.publish(this.gateway.newMessage(id));
    await this.#rest();
  }

  async #rest(): Promise<void> {
    for (let round = 0; round < 200; round++) {
      for (const connection of this.gateway.connections) {
        connection.deliver();
        connection.answer();
        connection.deliver();
      }
      await settle();
      const isQuiet = [...this.gateway.connections].every(({ queue, asked }) => queue.length === 0 && asked === undefined);
      // A gap shows itself only after its grace.
      if (isQuiet) await this.clock.advance(2_000);
      if (isQuiet && this.client.state === 'online' && round > 20) return;
    }
  }

  truthIds(): string[] {
    return [...this.gateway.truth.values()].flatMap((messages) => messages.map(({ id }) => id)).sort();
  }

  seqsOf(id: string): (number | undefined)[] {
    return this.messages.filter((frame) => frame.conversation_id === id).map((frame) => frame.message.seq);
  }
}

const LONG_ENOUGH = { holdMs: 1e12 };

async function play(gateway: ModelGateway, steps: readonly Step[], options: Partial<GatewayClientOptions> = {}): Promise<World> {
  const world = new World(gateway, options);
  await settle();
  for (const step of steps) await world.do(step);
  await world.calm();
  return world;
}

test('whatever happens on the way, the application gets every message once, in seq order, and the client comes to rest', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (steps, hasEventIds) => {
      const world = await play(new ModelGateway({ hasEventIds }), steps, { timing: LONG_ENOUGH });
      expect(world.client.state).toBe('online');
      expect(world.messages.map((frame) => frame.message.id).sort()).toEqual(world.truthIds());
      for (const id of CONVERSATIONS) expect(world.seqsOf(id)).toEqual(world.seqsOf(id).toSorted((a, b) => Number(a) - Number(b)));
      await world.client.close();
      expect(world.clock.pending).toBe(0);
    }),
    { numRuns: 300 },
  );
});

test('edits and deletions end as they are in the messenger', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (steps, hasEventIds) => {
      const world = await play(new ModelGateway({ hasEventIds }), steps, { timing: LONG_ENOUGH });
      for (const [id, messages] of world.gateway.truth) {
        const stored = world.stores[0]
          ?.of(id)
          .map(({ message, isDeleted }) => ({ id: message.id, isDeleted, ...(isDeleted ? {} : { text: message.text }) }));
        expect(stored).toEqual(
          messages.map(({ id: messageId, text, isDeleted }) => ({ id: messageId, isDeleted, ...(isDeleted ? {} : { text }) })),
        );
      }
      await world.client.close();
    }),
    { numRuns: 300 },
  );
});

test('with a short patience messages may come late, but every one comes, once', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const world = await play(new ModelGateway(), steps, { timing: { holdMs: 200 } });
      expect(world.messages.map((frame) => frame.message.id).sort()).toEqual(world.truthIds());
      await world.client.close();
    }),
    { numRuns: 200 },
  );
});

test('over pub/sub, where nothing has a cursor, the same holds for messages', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const world = await play(new ModelGateway({ isPubSub: true }), steps, { timing: LONG_ENOUGH });
      expect(world.client.cursor).toBe(undefined);
      expect(world.messages.map((frame) => frame.message.id).sort()).toEqual(world.truthIds());
      for (const id of CONVERSATIONS) expect(world.seqsOf(id)).toEqual(world.seqsOf(id).toSorted((a, b) => Number(a) - Number(b)));
      await world.client.close();
    }),
    { numRuns: 200 },
  );
});

test('over reloads of the page nothing is lost: what was not handed out is neither below the stored cursor nor forgotten', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { maxLength: 25 }), { minLength: 2, maxLength: 4 }), async (lives) => {
      const storage = memoryStorage();
      const world = new World(new ModelGateway(), { storage, timing: LONG_ENOUGH });
      for (const [life, steps] of lives.entries()) {
        if (life > 0) {
          // The process dies: nothing is saved on the way out that was not saved before.
          for (const connection of world.gateway.connections) connection.gone();
          world.clock.drop();
          world.start();
        }
        await settle();
        for (const step of steps) await world.do(step);
      }
      await world.calm();
      expect([...new Set(world.messages.map((frame) => frame.message.id))].sort()).toEqual(world.truthIds());
      await world.client.close();
    }),
    { numRuns: 200 },
  );
});
