import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type DemoControl, fleetActions, replicaActions } from './demo-control.js';

const maxBodyBytes = 4096;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Serves the demo's control to the page (by way of the sandbox): GET tells the state, POST `{action, replica?}` changes it. */
export async function serveControl(control: DemoControl, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    void answerTo(control, request).then(({ status, body }) => send(response, status, body));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}

async function answerTo(control: DemoControl, request: IncomingMessage): Promise<Answer> {
  if (request.method === 'GET') return { status: 200, body: control.status() };
  if (request.method !== 'POST') return refuse(405, 'method_not_allowed', 'GET or POST');
  try {
    return await act(control, await readBody(request));
  } catch (error) {
    return refuse(500, 'failed', error instanceof Error ? error.message : String(error));
  }
}

async function act(control: DemoControl, body: ReadonlyMap<string, unknown>): Promise<Answer> {
  const fleetAction = fleetActions.find((name) => name === body.get('action'));
  if (fleetAction !== undefined) {
    await control.actOnFleet(fleetAction);
    return { status: 200, body: control.status() };
  }
  const action = replicaActions.find((name) => name === body.get('action'));
  if (action === undefined) return refuse(400, 'unknown_action', `action is one of ${[...replicaActions, ...fleetActions].join(', ')}`);
  const replica = control.find(String(body.get('replica')));
  if (replica === undefined) return refuse(404, 'unknown_replica', 'there is no such replica');
  await control.actOn(replica, action);
  return { status: 200, body: control.status() };
}

function refuse(status: number, code: string, message: string): Answer {
  return { status, body: { error: { code, message } } };
}

/** The members of the JSON object that was sent; none when it is anything else. */
async function readBody(request: IncomingMessage): Promise<ReadonlyMap<string, unknown>> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > maxBodyBytes) return new Map();
  }
  return new Map(Object.entries(parsed(text) ?? {}));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
