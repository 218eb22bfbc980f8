import { ask } from './api.js';
import { Fleet } from './fleet.js';
import { Panel } from './panel.js';
import { Person } from './person.js';

// The built client package, which the server puts there: no file beside this one.
const clientModule = '/client.js';
const { GatewayClient } = await import(clientModule);
const { gateway_ws_url: url = '/api/v1/ws' } = await ask('GET', '/demo/config');
// Two people are no crowd that has to be spread out, and somebody watches: no retry is further away than this.
const timing = { firstRetryMaxMs: 2000, backoffMaxMs: 2000 };
const newClient = (options) => new GatewayClient({ url, timing, ...options });
const people = ['alice', 'bob'].map((userId) => new Person(userId, newClient, () => drawSoon()));
const panels = people.map((person) => new Panel(person));
let isDue = false;

/** Many changes in one moment (a sync) are one drawing. */
function drawSoon() {
  if (isDue) return;
  isDue = true;
  // Not an animation frame: a page in the background goes on.
  setTimeout(() => {
    isDue = false;
    draw();
  }, 16);
}

function draw() {
  const lastSeqs = new Map();
  for (const person of people) {
    for (const { conversation_id: id } of person.conversations) lastSeqs.set(id, Math.max(lastSeqs.get(id) ?? 0, person.lastSeqOf(id)));
  }
  for (const panel of panels) panel.draw(lastSeqs);
}

document.querySelector('#people').append(...panels.map((panel) => panel.element));
// One after the other: the second socket then lands on the replica that has fewer.
for (const person of people) await person.start();
void new Fleet(document.querySelector('#fleet')).start();
