import { createServer, type IncomingMessage, type Server } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { freePort } from '../network/free-port.js';
import { RecordingClient } from './recording-client.js';

let url: string;
let http: Server;
let asked: IncomingMessage | undefined;
let refuses = false;

beforeEach(async () => {
  const port = await freePort();
  url = `ws://127.0.0.1:${port}/api/v1/ws`;
  http = createServer();
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: (offered) => offered.values().next().value ?? false });
  http.on('upgrade', (request, socket, head) => {
    asked = request;
    const body = '{"error":{"code":"draining","message":"soon"}}';
    if (refuses) socket.end(`HTTP/1.1 503 No\r\nRetry-After: 2\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    else sockets.handleUpgrade(request, socket, head, answerPings);
  });
  await new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve));
});

afterEach(() => {
  refuses = false;
  http.closeAllConnections();
  http.close();
});

function answerPings(socket: WebSocket): void {
  socket.send('{"type":"hello"}');
  socket.on('message', () => socket.send('{"type":"pong","cursor":null}'));
}

test('the token goes where it is wanted', async () => {
  await RecordingClient.open({ url, token: 't', cursor: '1-0' });
  expect(asked?.url).toBe('/api/v1/ws?cursor=1-0&token=t');
  await RecordingClient.open({ url, token: 't', via: 'header', origin: 'https://x.test' });
  expect(asked?.headers).toMatchObject({ authorization: 'Bearer t', origin: 'https://x.test' });
  const client = await RecordingClient.open({ url, token: 't', via: 'subprotocol' });
  expect(asked?.headers['sec-websocket-protocol']).toBe('bearer,t');
  expect(client.subprotocol).toBe('bearer');
});

test('a refusal carries status, headers and code', async () => {
  refuses = true;
  await expect(RecordingClient.open({ url })).rejects.toMatchObject({ status: 503, code: 'draining', headers: { 'retry-after': '2' } });
});

test('frames are kept in order, and a flush waits for a new pong each time', async () => {
  const client = await RecordingClient.open({ url });
  await client.flush();
  await client.flush();
  expect(client.frames.map(({ type }) => type)).toEqual(['hello', 'pong', 'pong']);
  expect(client.texts[0]).toBe('{"type":"hello"}');
});

test('a frame that does not come is told with those that did', async () => {
  const client = await RecordingClient.open({ url });
  await client.waitFor('hello');
  await expect(client.waitFor('typing', 50)).rejects.toThrow('a typing frame did not come; seen: hello');
});

test('a close is told with its code', async () => {
  const client = await RecordingClient.open({ url });
  await client.close(1000);
  expect(await client.closed).toMatchObject({ code: 1000 });
  expect(client.isOpen).toBe(false);
});
