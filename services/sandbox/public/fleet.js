import { ask } from './api.js';
import { el } from './dom.js';

const EVERY_MS = 1500;
/** What a replica in that state can be asked for. */
const OFFERS = {
  running: ['kill', 'stop'],
  stopped: ['continue', 'kill'],
  dead: ['restart'],
  starting: [],
};
const LABELS = { kill: 'Kill', restart: 'Restart', stop: 'Freeze', continue: 'Thaw' };

/** The replicas, as they see themselves, and (where somebody offers it) the switches to take them away and bring them back. */
export class Fleet {
  #section;
  #control = undefined;
  #replicas = [];
  #busy = undefined;

  constructor(section) {
    this.#section = section;
  }

  async start() {
    this.#control = await ask('GET', '/demo/control').catch(() => undefined);
    for (;;) {
      await this.#refresh();
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }

  async #refresh() {
    const fleet = await ask('GET', '/demo/replicas').catch(() => undefined);
    this.#replicas = fleet?.replicas ?? [];
    if (this.#control !== undefined && this.#busy === undefined)
      this.#control = await ask('GET', '/demo/control').catch(() => this.#control);
    this.#draw();
  }

  #draw() {
    const ids = new Set([...(this.#control?.replicas ?? []).map(({ id }) => id), ...this.#replicas.map(({ replica_id }) => replica_id)]);
    this.#section.hidden = ids.size === 0;
    this.#section.classList.toggle('incident', this.#control?.incident === true);
    this.#section.replaceChildren(...[...ids].sort().map((id) => this.#replica(id)), ...this.#incident());
  }

  #replica(id) {
    const figures = this.#replicas.find(({ replica_id }) => replica_id === id);
    const state = this.#control?.replicas.find((replica) => replica.id === id)?.state ?? 'running';
    const offers = OFFERS[state].filter((action) => this.#control?.actions.includes(action));
    return el(
      'article',
      { class: `replica-card ${state}`, 'data-replica': id },
      el('h2', {}, id),
      el('p', {}, state === 'running' ? describe(figures) : state),
      el('div', { class: 'switches' }, ...offers.map((action) => this.#button(LABELS[action], { action, replica: id }))),
    );
  }

  #incident() {
    const { actions = [], incident = false } = this.#control ?? {};
    const action = incident ? 'heal' : 'incident';
    if (!actions.includes(action)) return [];
    const text = incident
      ? 'One group for all: each event reaches one replica, and people on the other miss it.'
      : 'What if the replicas shared one consumer group?';
    return [
      el(
        'article',
        { class: 'replica-card story' },
        el('p', {}, text),
        el('div', { class: 'switches' }, this.#button(incident ? 'Heal' : 'Try it', { action })),
      ),
    ];
  }

  #button(label, order) {
    const name = `${order.action} ${order.replica ?? ''}`;
    return el(
      'button',
      { class: order.action, disabled: this.#busy !== undefined, onclick: () => this.#act(name, order) },
      this.#busy === name ? '…' : label,
    );
  }

  async #act(name, order) {
    this.#busy = name;
    this.#draw();
    this.#control = await ask('POST', '/demo/control', order).catch(() => this.#control);
    this.#busy = undefined;
    await this.#refresh();
  }
}

function describe(figures) {
  if (figures === undefined) return 'no word from it';
  const { connections, lag_entries, draining } = figures;
  const lag = lag_entries === null || lag_entries === undefined ? '' : ` · lag ${lag_entries}`;
  return `${connections} ${connections === 1 ? 'socket' : 'sockets'}${lag}${draining ? ' · draining' : ''}`;
}
