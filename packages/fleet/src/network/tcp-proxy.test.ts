import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../eventually.js';
import { freePort } from './free-port.js';
import { TcpProxy } from './tcp-proxy.js';

let echo: Server;
let proxy: TcpProxy;
const open: Socket[] = [];

interface Line {
  readonly socket: Socket;
  received: string;
  closed: boolean;
}

function dial(): Line {
  const line: Line = { socket: connect(proxy.port, '127.0.0.1'), received: '', closed: false };
  line.socket.on('data', (chunk) => {
    line.received += String(chunk);
  });
  line.socket.on('error', () => line.socket.destroy());
  line.socket.on('close', () => {
    line.closed = true;
  });
  open.push(line.socket);
  return line;
}

const hears = (line: Line, text: string): Promise<void> => eventually(() => expect(line.received).toBe(text));

beforeEach(async () => {
  const port = await freePort();
  echo = createServer((socket) => socket.pipe(socket).on('error', () => socket.destroy()));
  await new Promise<void>((resolve) => echo.listen(port, '127.0.0.1', resolve));
  proxy = await TcpProxy.start(port);
});

afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy();
  await proxy.stop();
  echo.close();
});

test('what is sent passes in both directions', async () => {
  const line = dial();
  line.socket.write('one');
  await hears(line, 'one');
  expect(proxy.openConnections).toBe(1);
});

test('cut resets what is open and lets new connections work', async () => {
  const line = dial();
  line.socket.write('one');
  await hears(line, 'one');
  proxy.cut();
  await eventually(() => line.closed);
  const again = dial();
  again.socket.write('two');
  await hears(again, 'two');
});

test('held answers arrive after their release, in order', async () => {
  const line = dial();
  proxy.holdAnswers();
  line.socket.write('one');
  line.socket.write('two');
  const other = await TcpProxy.start(proxy.port);
  await other.stop();
  expect(line.received).toBe('');
  proxy.releaseAnswers();
  await hears(line, 'onetwo');
});

test('held answers are lost with a cut', async () => {
  const line = dial();
  proxy.holdAnswers();
  line.socket.write('one');
  await eventually(() => proxy.openConnections === 1);
  proxy.cut();
  proxy.releaseAnswers();
  await eventually(() => line.closed);
  expect(line.received).toBe('');
});

test('a frozen proxy passes nothing and loses nothing', async () => {
  const line = dial();
  line.socket.write('one');
  await hears(line, 'one');
  proxy.freeze();
  line.socket.write('two');
  const late = dial();
  late.socket.write('three');
  await eventually(() => proxy.acceptedConnections === 2);
  expect([line.received, late.received]).toEqual(['one', '']);
  proxy.thaw();
  await Promise.all([hears(line, 'onetwo'), hears(late, 'three')]);
});

test('a black hole closes nothing and answers nothing, new connections work', async () => {
  const line = dial();
  line.socket.write('one');
  await hears(line, 'one');
  proxy.blackhole();
  line.socket.write('two');
  const fresh = dial();
  fresh.socket.write('three');
  await hears(fresh, 'three');
  expect([line.received, line.closed]).toEqual(['one', false]);
});

test('a refusing proxy closes new connections until it accepts again', async () => {
  proxy.refuse();
  const line = dial();
  await eventually(() => line.closed);
  proxy.accept();
  const fresh = dial();
  fresh.socket.write('one');
  await hears(fresh, 'one');
});

test('a delay holds every chunk back for at least that long', async () => {
  const line = dial();
  proxy.delay(40);
  const startedMs = performance.now();
  line.socket.write('one');
  await hears(line, 'one');
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(79); // there and back; timers may fire a fraction early
});
