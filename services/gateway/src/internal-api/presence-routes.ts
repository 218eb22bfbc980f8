import { asUserIds, MAX_PRESENCE_QUERY_USERS, type PresenceStatus, type UserId } from '@event-gateway/protocol';
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
  /** Within a second, whatever Redis does: `degraded` when it has not answered. Never rejects. */
  query(users: readonly UserId[]): Promise<FoundPresence>;
}

/** `GET /internal/presence?users=a,b` and `POST {"users": […]}`. A status that cannot be told is `unknown`, never missing. */
export function presenceRoutes(presence: PresenceQuery): { readonly GET: Handler; readonly POST: Handler } {
  const answer = async (named: unknown): Promise<Answer> => {
    const users = asUserIds(named);
    if (users === undefined) return refused('bad_request', 'users must be valid user ids');
    if (users.length === 0 || users.length > MAX_PRESENCE_QUERY_USERS) {
      return refused('bad_request', `users must be 1 to ${MAX_PRESENCE_QUERY_USERS}, not ${users.length}`);
    }
    return describe(users, await presence.query(users));
  };
  return {
    GET: ({ query }) => answer(usersOf(query)),
    POST: async ({ message }) => {
      const body = await readJsonObject(message);
      return 'fields' in body ? answer(body.fields['users']) : body;
    },
  };
}

function describe(users: readonly UserId[], found: FoundPresence): Answer {
  const presence = users.map((user): [UserId, object] => {
    const { status, last_seen }: FoundEntry = found.presence.get(user) ?? { status: 'unknown' };
    return [user, { status, last_seen }]; // an undefined last_seen is left out of the JSON
  });
  // fromEntries defines members, `__proto__` among them, where an assignment would not.
  return json(200, { presence: Object.fromEntries(presence), ...(found.degraded ? { degraded: true } : {}) });
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
