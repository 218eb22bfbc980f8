import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FleetHome } from '../../src/index.js';
import { inRepository } from '../../src/repository.js';
import { NodeService } from '../../src/services/node-service.js';

let home: FleetHome;
/** Every variable that the services read, by their own word. */
let known: Set<string>;

beforeAll(async () => {
  home = new FleetHome();
  const services = (['gateway', 'sandbox', 'notification-worker'] as const).map(
    (service) => new NodeService({ home, name: service, service, readyUrl: '', env: {} }),
  );
  for (const service of services) service.launch({}, ['--print-config']);
  await Promise.all(services.map((service) => service.exited));
  known = new Set(services.flatMap((service) => [...service.log().matchAll(/\b[A-Z][A-Z0-9_]{2,}\b/g)].map(([name]) => name)));
});

afterAll(async () => home.close());

const variablesIn = (path: string): string[] =>
  [...readFileSync(inRepository(path), 'utf8').matchAll(/(?:^\s+|\{ |, |name: )([A-Z][A-Z0-9_]{2,})(?=:|$)/gm)].map(
    ([, name = '']) => name,
  );

test.each(['deploy/compose.yaml', 'deploy/helm/event-gateway/values.yaml', 'deploy/helm/event-gateway/templates/statefulset.yaml'])(
  '%s sets only variables that a service reads',
  (path) => {
    const ofTheImages = new Set(['NODE_IMAGE', 'CMD', 'ALL']);
    const names = variablesIn(path).filter((name) => !ofTheImages.has(name));
    expect(names.length).toBeGreaterThan(2);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  },
);

test('compose gives every variable without a default', () => {
  const names = new Set(variablesIn('deploy/compose.yaml'));
  expect(['JWKS_URL', 'USER_SERVICE_URL', 'MESSENGER_URL'].filter((name) => !names.has(name))).toEqual([]);
});

test('every template of nginx is named in its README with each of its values', () => {
  const readme = readFileSync(inRepository('nginx/README.md'), 'utf8');
  const templates = readdirSync(inRepository('nginx')).filter((name) => name.endsWith('.template'));
  expect(templates).toContain('nginx.conf.template');
  const asked = templates.flatMap((name) => [...readFileSync(inRepository(`nginx/${name}`), 'utf8').matchAll(/^[^#\n]*\$\{([A-Z_]+)\}/gm)]);
  expect(asked.map(([, name = '']) => name).filter((name) => !readme.includes(name))).toEqual([]);
});
