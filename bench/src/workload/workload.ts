import { SeededRandom } from '@event-gateway/fleet';
import { distinctIntegers } from './distinct-integers.js';
import { userId } from './user-id.js';

/** What is published, as plain data: whoever has it derives the same conversations and the same events from it. */
export interface Workload {
  readonly seed: number;
  /** Starts every conversation id, so that two workloads have none in common. */
  readonly name: string;
  readonly conversations: number;
  /** Members of each, all of them recipients of each of its events. */
  readonly membersEach: number;
  /** Members are drawn from [firstUser, firstUser + users). */
  readonly firstUser: number;
  readonly users: number;
  /** The n-th event is in the n-th conversation; default: in a random one. */
  readonly visitsEachOnce?: boolean;
}

export interface Conversation {
  readonly id: string;
  readonly members: readonly string[];
}

/** An event as the messenger would say it; peers deliver it as it is, the gateway adds cards and a cursor. */
export interface BenchEvent {
  readonly recipients: readonly string[];
  readonly envelope: {
    readonly type: 'message.new';
    readonly event_id: string;
    readonly conversation_id: string;
    readonly occurred_at: string;
    readonly payload: Readonly<Record<string, unknown>>;
  };
}

/** Stands where the time of sending is written when an event goes out; see `stamp.ts`. */
export const stampPlaceholder = 1_000_000_000_000_000;

// With the ids around it an envelope of about 320 bytes: a message of two lines.
const text = 'Are we still on for Thursday? I would bring the printed plans along, and a thermos of tea for the two of us.';

export function conversationsOf({ seed, name, conversations, membersEach, firstUser, users }: Workload): Conversation[] {
  const random = new SeededRandom(seed);
  return Array.from({ length: conversations }, (_, index) => ({
    id: `${name}-${String(index).padStart(4, '0')}`,
    members: distinctIntegers(random, membersEach, firstUser, users).map(userId),
  }));
}

/** `count` events over the workload's conversations in a random order that its seed decides. */
export function eventsOf(workload: Workload, count: number): BenchEvent[] {
  const conversations = conversationsOf(workload);
  const random = new SeededRandom(workload.seed + 1);
  return Array.from({ length: count }, (_, index) => {
    const conversation = workload.visitsEachOnce === true ? conversations[index % conversations.length] : random.pick(conversations);
    if (conversation === undefined) throw new Error('a workload without conversations');
    return messageIn(conversation, random.pick(conversation.members), index);
  });
}

function messageIn({ id, members }: Conversation, sender: string, index: number): BenchEvent {
  const number = String(index).padStart(7, '0');
  return {
    recipients: members,
    envelope: {
      type: 'message.new',
      event_id: `event-${number}`,
      conversation_id: id,
      occurred_at: '2026-01-01T00:00:00.000Z',
      payload: { sent_us: stampPlaceholder, id: `message-${number}`, seq: index + 1, sender_id: sender, text },
    },
  };
}
