// `npm run demo`: two replicas, nginx, Redis and a small messenger on this machine, with a page to look at.
// `npm run demo -- --check`: the same without a browser; posts one message, sees it arrive on both replicas, exits 0 or 1.
import type { Server } from 'node:http';
import { checkDelivery } from './demo/check-delivery.js';
import { serveControl } from './demo/control-server.js';
import { DemoControl } from './demo/demo-control.js';
import { type Fleet, startFleet } from './fleet.js';
import { freePort } from './network/free-port.js';

const isCheck = process.argv.includes('--check');

function say(line: string): void {
  console.log(line);
}

function introduce({ nginx, redis, replicas, home }: Fleet): void {
  say(`
Event Gateway is running on this machine.

  Open      ${nginx.url}
            The certificate is self-signed: your browser asks once whether you mean it.

  Try       Write from one side to the other; each side sits on another replica.
            Kill a replica (on the page, or: kill -9 ${replicas[0]?.pid}) and go on writing: nobody misses anything.
            Restart it. Freeze one instead. Reload the page.
            Let the replicas share one consumer group: one side misses each message, until it notices and syncs. Heal it.

  Look      ${replicas.map(({ id, internalUrl }) => `${id}  ${internalUrl}/metrics`).join('\n            ')}
            Redis      ${redis.url}
            logs       ${home.dir}/*.log

Ctrl-C ends everything and leaves nothing behind.`);
}

async function start(): Promise<{ fleet: Fleet; control: Server }> {
  const controlPort = await freePort();
  const fleet = await startFleet({
    owners: 'sandbox',
    // A killed replica's name is free again after this; the default of 10 s is long for somebody who watches.
    env: { REPLICA_LEASE_TTL_MS: '3000' },
    nginxPort: await freePort(8443),
    sandboxEnv: { DEMO_CONTROL_URL: `http://127.0.0.1:${controlPort}/demo/control` },
  });
  return { fleet, control: await serveControl(new DemoControl(fleet.replicas), controlPort) };
}

/** Resolves with the first request to end; the second ends this process at once, and the reaper sees to the rest. */
function untilAskedToEnd(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (asked) process.exit(130);
        asked = true;
        resolve();
      });
    }
  });
}

const end = untilAskedToEnd();
say('Starting Redis, the messenger, two replicas and nginx …');
let hasStarted = false;
void end.then(() => {
  if (!hasStarted) process.exit(130); // the reaper ends whatever is there already
});
const { fleet, control } = await start();
hasStarted = true;
try {
  if (isCheck) {
    await checkDelivery(fleet, say);
    say('OK: the message arrived at every socket on both replicas.');
  } else {
    introduce(fleet);
    await end;
    say('\nEnding …');
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  control.closeAllConnections();
  control.close();
  await fleet.stop();
}
process.exit();
