import { choiceField, idField, idsField, intField, optionalField, readFields, textField } from '../http/fields.js';
import type { Reply, Route } from '../http/router.js';
import type { Conversations } from '../messenger/conversations.js';
import { conversationBody, dialogBody } from '../messenger/payloads.js';
import type { Receipts } from '../messenger/receipts.js';
import { Refusal } from '../refusal.js';
import type { Conversation } from '../store/conversation-store.js';
import type { UserRoutes } from './user-routes.js';

const typeFields = { type: choiceField(['direct', 'group']) };
const directFields = { peer_id: idField };
const groupFields = { title: textField(200), avatar_url: optionalField(textField(2000)), member_ids: idsField };
const updateFields = { title: optionalField(textField(200)), avatar_url: optionalField(textField(2000)) };

export function conversationRoutes(api: UserRoutes, conversations: Conversations, receipts: Receipts): Route[] {
  const show = (conversation: Conversation | Refusal, status = 200): Reply | Refusal =>
    conversation instanceof Refusal
      ? conversation
      : { status, body: conversationBody(conversation, conversations.members(conversation.conversationId)) };

  return [
    api.route('GET', '/api/conversations', (userId) => ({ body: { conversations: conversations.dialogsOf(userId).map(dialogBody) } })),
    api.route('POST', '/api/conversations', async (userId, request) => {
      const body = await request.readJson();
      const kind = body instanceof Refusal ? body : readFields(body, typeFields);
      if (kind instanceof Refusal) return kind;
      const created = kind.type === 'direct' ? openDirect(conversations, userId, body) : createGroup(conversations, userId, body);
      return created instanceof Refusal ? created : show(created.conversation, created.isNew ? 201 : 200);
    }),
    api.route('GET', '/api/conversations/:conversationId', (userId, _request, { conversationId }) => {
      const conversation = conversations.of(userId, conversationId);
      if (conversation instanceof Refusal) return conversation;
      const participants = conversations.members(conversationId);
      return { body: { ...conversationBody(conversation, participants), receipts: receipts.of(conversationId) } };
    }),
    api.route('PATCH', '/api/conversations/:conversationId', async (userId, request, { conversationId }) => {
      const fields = await request.readBody(updateFields);
      if (fields instanceof Refusal) return fields;
      const { title, avatar_url: avatarUrl } = fields;
      const changes = { ...(title === undefined ? {} : { title }), ...(avatarUrl === undefined ? {} : { avatarUrl }) };
      return show(conversations.update(userId, conversationId, changes));
    }),
    api.route('POST', '/api/conversations/:conversationId/members', async (userId, request, { conversationId }) => {
      const fields = await request.readBody({ user_id: idField });
      return fields instanceof Refusal ? fields : show(conversations.addMember(userId, conversationId, fields.user_id));
    }),
    api.route('DELETE', '/api/conversations/:conversationId/members/:memberId', (userId, _request, { conversationId, memberId }) =>
      show(conversations.removeMember(userId, conversationId, memberId)),
    ),
    ...(['delivered', 'read'] as const).map((kind) =>
      api.route('POST', `/api/conversations/:conversationId/${kind}`, async (userId, request, { conversationId }) => {
        const fields = await request.readBody({ seq: intField(0) });
        const receipt = fields instanceof Refusal ? fields : receipts.acknowledge(userId, conversationId, kind, fields.seq);
        return receipt instanceof Refusal ? receipt : { status: 204 };
      }),
    ),
  ];
}

type Opened = ReturnType<Conversations['openDirect']>;

function openDirect(conversations: Conversations, userId: string, body: unknown): Opened {
  const fields = readFields(body, directFields);
  return fields instanceof Refusal ? fields : conversations.openDirect(userId, fields.peer_id);
}

function createGroup(conversations: Conversations, userId: string, body: unknown): Opened {
  const fields = readFields(body, groupFields);
  if (fields instanceof Refusal) return fields;
  return conversations.createGroup(userId, { title: fields.title, avatarUrl: fields.avatar_url, memberIds: fields.member_ids });
}
