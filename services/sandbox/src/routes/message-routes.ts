import { idField, intField, optionalField, textField } from '../http/fields.js';
import type { Reply, Route } from '../http/router.js';
import type { Messages } from '../messenger/messages.js';
import { messagePayload } from '../messenger/payloads.js';
import { Refusal } from '../refusal.js';
import type { Message } from '../store/message-store.js';
import type { UserRoutes } from './user-routes.js';

const messageText = textField(10_000);
const postFields = { text: messageText, client_id: optionalField(idField) };
const historyQuery = { before_seq: optionalField(intField(1)), limit: optionalField(intField(1, 200)) };
const historyMessages = 50;

export function messageRoutes(api: UserRoutes, messages: Messages): Route[] {
  const list = '/api/conversations/:conversationId/messages';
  const one = `${list}/:messageId` as const;
  const reaction = `${one}/reactions/:emoji` as const;
  const show = (message: Message | Refusal): Reply | Refusal => (message instanceof Refusal ? message : { body: messagePayload(message) });

  return [
    api.route('GET', list, (userId, request, { conversationId }) => {
      const query = request.readQuery(historyQuery);
      if (query instanceof Refusal) return query;
      const found = messages.history(userId, conversationId, query.before_seq, query.limit ?? historyMessages);
      if (found instanceof Refusal) return found;
      const withReactions = found.map((message) => ({ ...messagePayload(message), reactions: messages.reactionsTo(message.messageId) }));
      return { body: { messages: withReactions } };
    }),
    api.route('POST', list, async (userId, request, { conversationId }) => {
      const fields = await request.readBody(postFields);
      if (fields instanceof Refusal) return fields;
      const posted = messages.post(userId, conversationId, { text: fields.text, clientId: fields.client_id });
      return posted instanceof Refusal ? posted : { status: posted.isNew ? 201 : 200, body: messagePayload(posted.message) };
    }),
    api.route('PATCH', one, async (userId, request, { conversationId, messageId }) => {
      const fields = await request.readBody({ text: messageText });
      return fields instanceof Refusal ? fields : show(messages.edit(userId, conversationId, messageId, fields.text));
    }),
    api.route('DELETE', one, (userId, _request, { conversationId, messageId }) => show(messages.delete(userId, conversationId, messageId))),
    api.route('PUT', reaction, (userId, _request, { conversationId, messageId, emoji }) =>
      show(messages.react(userId, conversationId, messageId, emoji)),
    ),
    api.route('DELETE', reaction, (userId, _request, { conversationId, messageId, emoji }) =>
      show(messages.unreact(userId, conversationId, messageId, emoji)),
    ),
  ];
}
