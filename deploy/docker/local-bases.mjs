// Base images from the programs of this very machine, for machines that reach no image registry (our CI is one): each is the binary,
// the libraries that it loads, and a shell. `node deploy/docker/local-bases.mjs` prints the variables that select them.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

const bases = [
  { variable: 'NODE_IMAGE', tag: 'local/event-gateway-node', commands: [process.execPath] },
  { variable: 'REDIS_IMAGE', tag: 'local/event-gateway-redis', commands: ['redis-server', 'redis-cli'] },
  { variable: 'NGINX_IMAGE', tag: 'local/event-gateway-nginx', commands: ['nginx'] },
];

const output = (command, args) =>
  execFileSync(command, args, { encoding: 'utf8', env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } });

function findCommand(command) {
  return realpathSync(command.startsWith('/') ? command : output('sh', ['-c', `command -v ${command}`]).trim());
}

/** Paths of the shared libraries and the loader, as `ldd` sees them. */
function librariesOf(binary) {
  return [...output('ldd', [binary]).matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path);
}

function buildImage({ tag, commands }) {
  const context = mkdtempSync(join(tmpdir(), 'event-gateway-base-'));
  const files = join(context, 'root');
  const copy = (from, to) => {
    mkdirSync(join(files, dirname(to)), { recursive: true });
    copyFileSync(from, join(files, to));
  };
  const binaries = [...commands, 'sh'].map((command) => [findCommand(command), command]);
  for (const [binary, command] of binaries) {
    copy(binary, `/usr/bin/${basename(command)}`);
    for (const library of librariesOf(binary)) copy(library, library);
  }
  mkdirSync(join(files, 'bin'), { recursive: true });
  copyFileSync(findCommand('sh'), join(files, 'bin/sh'));
  mkdirSync(join(files, 'etc'), { recursive: true });
  writeFileSync(join(files, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n');
  writeFileSync(join(files, 'etc/group'), 'root:x:0:\nnogroup:x:65534:\n');
  mkdirSync(join(files, 'tmp'), { mode: 0o1777 });
  writeFileSync(join(context, 'Dockerfile'), 'FROM scratch\nCOPY root/ /\nENV PATH=/usr/bin:/bin\n');
  execFileSync('docker', ['build', '-q', '-t', tag, context], { stdio: ['ignore', 'ignore', 'inherit'] });
  rmSync(context, { recursive: true });
}

for (const base of bases) {
  buildImage(base);
  console.log(`${base.variable}=${base.tag}`);
}
