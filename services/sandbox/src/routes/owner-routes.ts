import { idField, intField, optionalField, textField } from '../http/fields.js';
import type { HttpRequest } from '../http/http-request.js';
import { type Parameters, type Reply, type Route, route } from '../http/router.js';
import { userBody } from '../messenger/payloads.js';
import type { Users } from '../messenger/users.js';
import { Refusal } from '../refusal.js';
import type { ConversationStore } from '../store/conversation-store.js';
import type { Sync } from '../sync/sync.js';
import { seqsField } from './seqs-field.js';

/** A client's sync frame has at most 64 KiB, and this body little more than its numbers. */
const maxSyncBytes = 256 * 1024;

const syncFields = {
  user_id: idField,
  conversations: seqsField,
  since_ms: optionalField(intField(0)),
  page: optionalField(textField(4096)),
};

type Handle<P extends string> = (request: HttpRequest, parameters: Parameters<P>) => Promise<Reply | Refusal> | Reply | Refusal;

/** What the gateway asks the owners of users and conversations. With a token, only who brings it is answered. */
export function ownerRoutes(users: Users, conversations: ConversationStore, sync: Sync, ownerToken: string | undefined): Route[] {
  const internal = <const P extends string>(method: string, path: P, handle: Handle<P>): Route =>
    route(method, path, (request, parameters) => refuseStranger(request, ownerToken) ?? handle(request, parameters));

  return [
    internal('GET', '/internal/users/:userId/card', (_request, { userId }) => {
      const user = users.get(userId);
      return user instanceof Refusal ? user : { body: userBody(user) };
    }),
    internal('GET', '/internal/conversations/:conversationId/card', (_request, { conversationId }) => {
      const conversation = conversations.get(conversationId);
      if (conversation === undefined) return new Refusal('conversation_unknown', 'there is no such conversation');
      const { type, title, avatarUrl } = conversation;
      const participants = conversations.members(conversationId);
      return { body: { conversation_id: conversationId, type, title, avatar_url: avatarUrl, participants } };
    }),
    internal('POST', '/internal/sync', async (request) => {
      const fields = await request.readBody(syncFields, maxSyncBytes);
      if (fields instanceof Refusal) return fields;
      const { user_id: userId, conversations: lastSeqs, since_ms: sinceMs, page } = fields;
      const answer = page === undefined ? sync.begin({ userId, lastSeqs, sinceMs }) : sync.resume(userId, page);
      return answer instanceof Refusal ? answer : { body: answer };
    }),
  ];
}

export function refuseStranger(request: HttpRequest, token: string | undefined): Refusal | undefined {
  if (token === undefined || request.authorization === `Bearer ${token}`) return undefined;
  return request.authorization === undefined
    ? new Refusal('token_missing', 'a bearer token is required')
    : new Refusal('token_invalid', 'this bearer token opens nothing here');
}
