// Lays out what the images and compose.yaml are made of, under deploy/docker/dist: for each service the built code with its
// production dependencies, and nginx's configuration with a self-signed certificate for a first try.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const here = import.meta.dirname;
const root = dirname(dirname(here));
const out = join(here, 'dist');
const services = ['gateway', 'sandbox', 'notification-worker'];

// Node 20, 22 and 24 on Linux: the other 40 binaries of uWebSockets.js are 200 MB that no container here can load.
const loadable = /^uws_linux_(x64|arm64)_(115|127|137)\.node$/;

function run(command, args, options = {}) {
  execFileSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], ...options });
}

function layOut(service) {
  const target = join(out, service);
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  run('npx', ['-y', packageManager, '--filter', `@event-gateway/${service}`, 'deploy', '--prod', '--legacy', target], {
    env: { ...process.env, CI: 'true' },
  });
  for (const name of readdirSync(target)) {
    if (!['dist', 'public', 'node_modules', 'package.json'].includes(name)) rmSync(join(target, name), { recursive: true });
  }
  pruneBinaries(join(target, 'node_modules/.pnpm'));
}

function pruneBinaries(store) {
  for (const entry of readdirSync(store, { recursive: true, withFileTypes: true })) {
    if (/^uws_.*\.node$/.test(entry.name) && !loadable.test(entry.name)) rmSync(join(entry.parentPath, entry.name));
  }
}

/** Values for compose.yaml: two replicas by their service names, and the sandbox for everything else. */
const nginxValues = {
  WORKER_PROCESSES: 'auto',
  WORKER_CONNECTIONS: '16384',
  READ_TIMEOUT: '45s',
  CONNECTIONS_PER_ADDRESS: '2000',
  UPGRADES_PER_SECOND_PER_ADDRESS: '100',
  UPGRADES_BURST_PER_ADDRESS: '1000',
  PID_FILE: '/tmp/nginx.pid',
  ACCESS_LOG: '/dev/stdout',
  LISTEN: '8443',
  SERVER_NAME: 'localhost',
  CERTIFICATE: '/etc/nginx/cert.pem',
  CERTIFICATE_KEY: '/etc/nginx/key.pem',
  GATEWAYS: 'server gateway-1:8080 max_fails=0; server gateway-2:8080 max_fails=0;',
  SANDBOX: 'http://sandbox:8090',
};

function layOutNginx() {
  const target = join(out, 'nginx');
  mkdirSync(join(target, 'locations'), { recursive: true });
  const render = (from, to) => {
    const template = readFileSync(join(root, 'nginx', from), 'utf8');
    writeFileSync(
      join(target, to),
      template.replace(/\$\{([A-Z_]+)\}/g, (text, name) => nginxValues[name] ?? text),
    );
  };
  render('nginx.conf.template', 'nginx.conf');
  render('sandbox.conf.template', 'locations/sandbox.conf');
  if (existsSync(join(target, 'key.pem'))) return;
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', join(target, 'key.pem')];
  run('openssl', ['req', '-x509', ...key, '-out', join(target, 'cert.pem'), '-days', '90', ...subject], { stdio: 'ignore' });
  chmodSync(join(target, 'key.pem'), 0o644); // of a certificate that protects nothing: the container's own user must read it
}

run(process.execPath, [join(root, 'packages/fleet/bin/setup.mjs'), '--only-build']);
for (const service of services) {
  rmSync(join(out, service), { recursive: true, force: true });
  layOut(service);
  cpSync(join(here, 'Dockerfile'), join(out, service, 'Dockerfile'));
}
layOutNginx();
console.log(`prepared: ${out}`);
