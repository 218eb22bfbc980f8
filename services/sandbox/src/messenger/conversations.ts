import { randomUUID } from 'node:crypto';
import type { Clock } from '@event-gateway/runtime';
import { Refusal } from '../refusal.js';
import type { Conversation, ConversationStore, Dialog } from '../store/conversation-store.js';
import type { Database } from '../store/database.js';
import type { UserStore } from '../store/user-store.js';
import type { EventRecorder } from './event-recorder.js';
import { conversationOfMember } from './membership.js';
import { conversationBody } from './payloads.js';

export interface GroupDraft {
  readonly title: string;
  readonly avatarUrl: string | undefined;
  /** Beside its creator. */
  readonly memberIds: readonly string[];
}

/** Dialogs and groups, and who is in them. Each change is one transaction with what tells it. */
export class Conversations {
  readonly #database: Database;
  readonly #conversations: ConversationStore;
  readonly #users: UserStore;
  readonly #recorder: EventRecorder;
  readonly #clock: Clock;

  constructor(database: Database, conversations: ConversationStore, users: UserStore, recorder: EventRecorder, clock: Clock) {
    this.#database = database;
    this.#conversations = conversations;
    this.#users = users;
    this.#recorder = recorder;
    this.#clock = clock;
  }

  dialogsOf(userId: string): Dialog[] {
    return this.#conversations.dialogsOf(userId);
  }

  of(userId: string, conversationId: string): Conversation | Refusal {
    return conversationOfMember(this.#conversations, conversationId, userId);
  }

  members(conversationId: string): string[] {
    return this.#conversations.members(conversationId);
  }

  /** Two people have one direct dialog: asked for again, it is the same one. */
  openDirect(
    userId: string,
    peerId: string,
    conversationId = randomUUID() as string,
  ): { conversation: Conversation; isNew: boolean } | Refusal {
    if (peerId === userId) return new Refusal('bad_request', 'a direct dialog needs somebody else');
    return this.#database.transaction(() => {
      const existing = this.#conversations.directBetween(userId, peerId);
      if (existing !== undefined) return { conversation: existing, isNew: false };
      return this.#create({ conversationId, type: 'direct', title: undefined, avatarUrl: undefined }, [userId, peerId]);
    });
  }

  createGroup(
    userId: string,
    draft: GroupDraft,
    conversationId = randomUUID() as string,
  ): { conversation: Conversation; isNew: boolean } | Refusal {
    const { title, avatarUrl, memberIds } = draft;
    return this.#database.transaction(() =>
      this.#create({ conversationId, type: 'group', title, avatarUrl }, [...new Set([userId, ...memberIds])]),
    );
  }

  /** Fields that are left out stay. */
  update(userId: string, conversationId: string, changes: { title?: string; avatarUrl?: string }): Conversation | Refusal {
    return this.#changeGroup(userId, conversationId, (group) => {
      const title = changes.title ?? group.title;
      const avatarUrl = changes.avatarUrl ?? group.avatarUrl;
      if (title === group.title && avatarUrl === group.avatarUrl) return undefined;
      this.#conversations.update(conversationId, { title, avatarUrl });
      this.#recorder.conversationChanged(conversationId);
      this.#recorder.changed({
        type: 'conversation.updated',
        conversationId,
        recipients: this.#conversations.members(conversationId),
        payload: { title, avatar_url: avatarUrl, by: userId },
        subject: ['title', conversationId],
        atMs: this.#clock.wallMs(),
      });
      return undefined;
    });
  }

  addMember(userId: string, conversationId: string, newMemberId: string): Conversation | Refusal {
    return this.#changeGroup(userId, conversationId, () => {
      if (this.#users.get(newMemberId) === undefined) return new Refusal('user_unknown', 'there is no such user');
      if (this.#conversations.isMember(conversationId, newMemberId)) return undefined;
      this.#conversations.addMember(conversationId, newMemberId);
      this.#memberChanged(conversationId, newMemberId, 'added', userId, this.#conversations.members(conversationId));
      return undefined;
    });
  }

  /** Any member may take out any other, or leave. Who is taken out is told too. */
  removeMember(userId: string, conversationId: string, memberId: string): Conversation | Refusal {
    return this.#changeGroup(userId, conversationId, () => {
      if (!this.#conversations.isMember(conversationId, memberId)) return new Refusal('user_unknown', 'there is no such member');
      const everybody = this.#conversations.members(conversationId);
      this.#conversations.removeMember(conversationId, memberId);
      this.#memberChanged(conversationId, memberId, 'removed', userId, everybody);
      return undefined;
    });
  }

  #create(draft: Omit<Conversation, 'lastSeq'>, members: readonly string[]): { conversation: Conversation; isNew: boolean } | Refusal {
    const stranger = members.find((member) => this.#users.get(member) === undefined);
    if (stranger !== undefined) return new Refusal('user_unknown', 'one of the members does not exist');
    const conversation = { ...draft, lastSeq: 0 };
    this.#conversations.create(draft, members);
    // Replicas may remember that this conversation did not exist.
    this.#recorder.conversationChanged(draft.conversationId);
    this.#recorder.happened({
      type: 'conversation.created',
      conversationId: draft.conversationId,
      recipients: members,
      payload: conversationBody(conversation, members),
      atMs: this.#clock.wallMs(),
    });
    return { conversation, isNew: true };
  }

  #memberChanged(conversationId: string, memberId: string, change: 'added' | 'removed', by: string, recipients: readonly string[]): void {
    this.#recorder.membershipChanged(conversationId);
    this.#recorder.changed({
      type: 'member.changed',
      conversationId,
      recipients,
      payload: { user_id: memberId, change, by },
      subject: ['member', conversationId, memberId],
      aboutUserId: memberId,
      atMs: this.#clock.wallMs(),
    });
  }

  #changeGroup(userId: string, conversationId: string, change: (group: Conversation) => Refusal | undefined): Conversation | Refusal {
    return this.#database.transaction(() => {
      const group = conversationOfMember(this.#conversations, conversationId, userId);
      if (group instanceof Refusal) return group;
      if (group.type === 'direct') return new Refusal('direct_is_fixed', 'a direct dialog has no title, and its two people stay');
      return change(group) ?? this.#conversations.get(conversationId) ?? group;
    });
  }
}
