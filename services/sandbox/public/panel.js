import { el } from './dom.js';

const REACTION = '♥';
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const seconds = (ms) => `${Math.max(1, Math.round(ms / 1000))} s`;

/** Draws one person, again and again; the composer stays, so that nobody loses what they are writing. */
export class Panel {
  element;
  #person;
  #draft = el('input', { class: 'draft', placeholder: 'Write something', 'aria-label': 'Message', autocomplete: 'off', maxlength: '2000' });
  #avatar = el('img', { class: 'avatar', alt: '' });
  #name = el('input', { class: 'name', 'aria-label': 'Name', maxlength: '40', spellcheck: 'false' });
  #where = el('span', { class: 'where' });
  #tabs = el('nav');
  #list = el('ol', { class: 'messages' });
  #hint = el('p', { class: 'hint' });
  #foot = el('footer');
  #editing = undefined;
  #lastDrawn = '';

  constructor(person) {
    this.#person = person;
    this.#draft.addEventListener('input', () => this.#draft.value !== '' && person.typing());
    this.#name.addEventListener('change', () => this.#name.value.trim() !== '' && person.rename(this.#name.value.trim()));
    this.#name.addEventListener('keydown', ({ key }) => key === 'Enter' && this.#name.blur());
    const composer = el('form', { class: 'composer', onsubmit: (event) => this.#submit(event) }, this.#draft, el('button', {}, 'Send'));
    this.element = el(
      'section',
      { class: 'person', 'data-user': person.userId },
      el('div', { class: 'top' }, this.#avatar, this.#name, this.#where),
      this.#tabs,
      this.#list,
      this.#hint,
      composer,
      this.#foot,
    );
  }

  /** @param lastSeqs the highest seq that anybody on this page has, by conversation */
  draw(lastSeqs) {
    this.#drawTop();
    this.#drawTabs();
    this.#drawMessages();
    this.#drawHint();
    this.#drawFoot(lastSeqs);
  }

  #drawTop() {
    const { avatarUrl, name, status, replicaId } = this.#person;
    if (document.activeElement !== this.#name) this.#name.value = name;
    if (avatarUrl !== undefined && this.#avatar.getAttribute('src') !== avatarUrl) this.#avatar.src = avatarUrl;
    const retry = status.retryInMs === undefined ? '' : ` in ${seconds(status.retryInMs)}`;
    const pill = el('span', { class: `state ${status.state}`, title: status.reason ?? '' }, `${status.state}${retry}`);
    const where = status.state === 'online' || status.state === 'syncing' ? el('span', { class: 'replica' }, replicaId ?? '') : undefined;
    this.#where.replaceChildren(...(where === undefined ? [] : [where]), pill);
  }

  #drawTabs() {
    const person = this.#person;
    this.#tabs.replaceChildren(
      ...person.conversations.map(({ conversation_id: id, type, title, peer_id }) => {
        const unread = person.unreadIn(id);
        const label = type === 'direct' ? (person.names.get(peer_id) ?? '…') : title;
        return el(
          'button',
          {
            class: id === person.current ? 'tab open' : 'tab',
            onclick: () => person.open(id),
            ondblclick: () => this.#retitle(type, title),
          },
          type === 'direct' ? this.#dot(peer_id) : el('span', { class: 'group' }, '#'),
          label,
          unread > 0 && id !== person.current && el('span', { class: 'unread' }, String(unread)),
        );
      }),
    );
  }

  #dot(userId) {
    const status = this.#person.presenceOf(userId);
    return el('span', { class: `dot ${status}`, title: status });
  }

  #retitle(type, title) {
    const next = type === 'group' ? prompt('Title of the group', title) : null;
    if (next !== null && next.trim() !== '') void this.#person.retitle(next.trim());
  }

  #drawMessages() {
    const person = this.#person;
    const messages = person.messagesOf(person.current);
    const isAtEnd = this.#list.scrollHeight - this.#list.scrollTop - this.#list.clientHeight < 80;
    const isOther = this.#lastDrawn !== person.current;
    this.#lastDrawn = person.current;
    this.#list.replaceChildren(...messages.map((message, index) => this.#message(message, messages[index - 1])));
    if (isAtEnd || isOther) this.#list.scrollTop = this.#list.scrollHeight;
  }

  #message(message, before) {
    const person = this.#person;
    const isMine = message.sender_id === person.userId;
    const isFollowing = before?.sender_id === message.sender_id;
    const likes = [...message.reactions].filter((reaction) => reaction.endsWith(` ${REACTION}`)).length;
    return el(
      'li',
      { class: `${isMine ? 'mine' : 'theirs'}${isFollowing ? ' following' : ''}`, 'data-seq': String(message.seq) },
      !isMine && !isFollowing && el('span', { class: 'author' }, person.names.get(message.sender_id) ?? message.sender_name ?? '…'),
      el(
        'div',
        { class: message.deleted ? 'bubble deleted' : 'bubble' },
        message.deleted ? 'deleted' : message.text,
        likes > 0 && el('span', { class: 'likes' }, likes > 1 ? `${REACTION} ${likes}` : REACTION),
      ),
      el('span', { class: 'meta' }, ...this.#meta(message, isMine)),
      !message.deleted && el('span', { class: 'tools' }, ...this.#tools(message, isMine)),
    );
  }

  #meta(message, isMine) {
    const parts = [
      message.source === 'live' && message.tookMs !== undefined
        ? `${Math.round(message.tookMs)} ms`
        : clock.format(new Date(message.sent_at)),
    ];
    if (message.edited || message.edited_at !== undefined) parts.push('edited');
    if (isMine) parts.push(message.seq <= this.#person.readByOthers(this.#person.current) ? '✓✓' : '✓');
    return [parts.join(' · ')];
  }

  #tools(message, isMine) {
    const person = this.#person;
    const tool = (label, text, onclick) => el('button', { type: 'button', title: label, 'aria-label': label, onclick }, text);
    return [
      tool('Like', REACTION, () => person.toggleReaction(message, REACTION)),
      ...(isMine ? [tool('Edit', '✎', () => this.#edit(message)), tool('Delete', '✕', () => person.delete(message.id))] : []),
    ];
  }

  #edit(message) {
    this.#editing = message.id;
    this.#draft.value = message.text;
    this.#draft.focus();
  }

  #drawHint() {
    const names = this.#person.typingIn(this.#person.current);
    const typing = names.length === 0 ? '' : `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} typing …`;
    this.#hint.textContent = this.#person.failure ?? typing;
    this.#hint.classList.toggle('failed', this.#person.failure !== undefined);
  }

  #drawFoot(lastSeqs) {
    const { counts, conversations } = this.#person;
    const missing = conversations.reduce((sum, { conversation_id: id }) => sum + this.#person.missingIn(id, lastSeqs.get(id) ?? 0), 0);
    const times = (count, what) => `${what} ${count}×`;
    this.#foot.replaceChildren(
      missing === 0
        ? el('span', { class: 'whole' }, 'nothing missing')
        : el(
            'button',
            { class: 'missing', title: 'Ask the messenger for it', onclick: () => this.#person.sync() },
            `${missing} missing · sync`,
          ),
      el(
        'span',
        {},
        [times(counts.reconnected, 'reconnected'), times(counts.resumed, 'resumed'), times(counts.synced, 'synced')].join(' · '),
      ),
    );
  }

  #submit(event) {
    event.preventDefault();
    const text = this.#draft.value.trim();
    if (text === '') return;
    this.#draft.value = '';
    void (this.#editing === undefined ? this.#person.post(text) : this.#person.edit(this.#editing, text));
    this.#editing = undefined;
  }
}
