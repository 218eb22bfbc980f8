import { asUserIds, MAX_PRESENCE_QUERY_USERS, type PresenceStatus, type UserId } from '@event-gateway/protocol';
import { RedisUnavailableError } from '@event-gateway/redis';
import type { Clock } from '@event-gateway/runtime';
import { type Answer, json, refused } from './answer.js';
import { readJsonObject } from './read-json-object.js';
import type { Handler } from './router.js';

interface FoundEntry {
  readonly status: PresenceStatus;
  readonly last_seen?: string;
}

interface FoundPresence {
  readonly degraded: boolean;
  readonly presence: ReadonlyMap<string, FoundEntry>;
}

/** Who knows the whole fleet's presence. */
export interface PresenceQuery {
  /** Says `degraded`, or rejects, when Redis cannot be asked. */
  query(users: readonly UserId[]): Promise<FoundPresence>;
}

/** Slower than this is as good as unreachable: the caller wants to decide about a notification. */
const deadlineMs = 1000;

/** `GET /internal/presence?users=a,b` and `POST {"users": […]}`. A status that cannot be told is `unknown`, never missing. */
export function presenceRoutes(presence: PresenceQuery, clock: Clock): { readonly GET: Handler; readonly POST: Handler } {
  const answer = async (named: unknown): Promise<Answer> => {
    const users = asUserIds(named);
    if (users === undefined) return refused('bad_request', 'users must be valid user ids');
    if (users.length === 0 || users.length > MAX_PRESENCE_QUERY_USERS) {
      return refused('bad_request', `users must be 1 to ${MAX_PRESENCE_QUERY_USERS}, not ${users.length}`);
    }
    return describe(users, await queryInTime(presence, users, clock));
  };
  return {
    GET: ({ query }) => answer(usersOf(query)),
    POST: async ({ message }) => {
      const body = await readJsonObject(message);
      return 'fields' in body ? answer(body.fields['users']) : body;
    },
  };
}

function describe(users: readonly UserId[], found: FoundPresence | undefined): Answer {
  const presence = users.map((user): [UserId, object] => {
    const { status, last_seen }: FoundEntry = found?.presence.get(user) ?? { status: 'unknown' };
    return [user, { status, last_seen }]; // an undefined last_seen is left out of the JSON
  });
  const isDegraded = found === undefined || found.degraded;
  // fromEntries defines members, `__proto__` among them, where an assignment would not.
  return json(200, { presence: Object.fromEntries(presence), ...(isDegraded ? { degraded: true } : {}) });
}

/** Undefined when Redis does not answer, or not in time. */
async function queryInTime(presence: PresenceQuery, users: readonly UserId[], clock: Clock): Promise<FoundPresence | undefined> {
  const answered = new AbortController();
  const found = presence.query(users).catch((error: unknown) => {
    if (error instanceof RedisUnavailableError) return undefined;
    throw error;
  });
  try {
    return await Promise.race([found, clock.sleep(deadlineMs, answered.signal).then(() => undefined)]);
  } finally {
    answered.abort();
  }
}

/** Split at commas before decoding, so that an id may contain one; undefined when a part cannot be decoded. */
function usersOf(query: string): string[] | undefined {
  const pair = query.split('&').find((candidate) => candidate.startsWith('users='));
  const value = pair?.slice('users='.length) ?? '';
  if (value === '') return [];
  try {
    return value.split(',').map((part) => decodeURIComponent(part));
  } catch {
    return undefined; // what a URIError means here is that this is no list of ids
  }
}
