// Who may import whom: the layers of ARCHITECTURE.md as rules, type imports included.
// Paths are relative to the repository; `layers.test.ts` plants a violation of every rule and sees it caught.

const gateway = '^services/gateway/src/';
const test = '([.]test[.]ts$|/test/|^[.]config/)';
const rooms = (...names) => `${gateway}(${names.join('|')})/`;

const flows = ['fanout', 'inbound', 'handshake', 'catchup'];
const features = ['frames', 'cards', 'presence', 'typing', 'replica'];
const low = ['hub', 'tail'];
const edges = ['internal-api', 'lifecycle'];

/** Modules of a room may import their own room, packages and what `allowed` names; everything else of the gateway is forbidden. */
function room(name, layer, allowed) {
  return {
    name: `${layer}-${name}`,
    severity: 'error',
    comment: `${name}/ may import ${allowed.length > 0 ? allowed.join(', ') : 'nothing else of the gateway'}`,
    from: { path: rooms(name), pathNot: test },
    to: { path: gateway, pathNot: [rooms(name), ...allowed] },
  };
}

const port = `${gateway}transport/(?!uws-server)`; // the port of the sockets and what it is made of, never the adapter

const gatewayRules = [
  {
    name: 'process-is-imported-by-nobody',
    severity: 'error',
    comment: 'main, compose and config know everybody, so nobody may know them',
    from: { path: gateway, pathNot: [`${gateway}(main|compose|config)[.]ts$`, test] },
    to: { path: `${gateway}(main|compose|config)[.]ts$` },
  },
  {
    name: 'edge-transport',
    severity: 'error',
    comment: 'the socket server knows its port and the hub',
    from: { path: rooms('transport'), pathNot: test },
    to: { path: gateway, pathNot: [rooms('transport', 'hub')] },
  },
  ...edges.map((name) => room(name, 'edge', [port, rooms('hub')])),
  ...flows.map((name) => room(name, 'flow', [port, rooms(...features, ...low)])),
  ...features.map((name) => room(name, 'feature', [port, rooms('hub')])),
  ...low.map((name) => room(name, 'low', [port])),
];

const mayImport = { redis: ['runtime'], publisher: ['redis', 'protocol'], fleet: ['protocol', 'redis', 'publisher', 'client'] };

const packageRules = ['protocol', 'client', 'runtime', 'redis', 'publisher', 'fleet'].map((name) => ({
  name: `package-${name}`,
  severity: 'error',
  comment: `packages/${name} may import ${mayImport[name]?.join(', ') ?? 'no other package'}`,
  from: { path: `^packages/${name}/src/`, pathNot: test },
  to: { path: '^(packages|services|bench)/', pathNot: [name, ...(mayImport[name] ?? [])].map((allowed) => `^packages/${allowed}/`) },
}));

const modulesOf = (name) => `(^|node_modules/)${name.replace('.', '[.]')}(/|$)`;

/** One door: `name` is imported by `only` and nowhere else. */
function door(name, only) {
  return {
    name: `door-${name.toLowerCase()}`,
    severity: 'error',
    comment: `${name} has one door`,
    from: { path: '^(packages|services|bench)/', pathNot: only },
    to: { path: modulesOf(name) },
  };
}

module.exports = {
  forbidden: [
    ...gatewayRules,
    ...packageRules,
    {
      name: 'pure',
      severity: 'error',
      comment: 'protocol and client run anywhere: no Node, no dependency',
      from: { path: '^packages/(protocol|client)/src/', pathNot: test },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown', 'unknown'] },
    },
    {
      name: 'packages-never-services',
      severity: 'error',
      comment: 'a service stands on packages, never the other way round; tests too start it as a process',
      from: { path: '^packages/' },
      to: { path: '^services/' },
    },
    {
      name: 'services-apart',
      severity: 'error',
      comment: 'services meet on the wire only',
      from: { path: '^(services/[^/]+|bench)/' },
      to: { path: '^(services|bench)/', pathNot: '^$1/' },
    },
    door('ioredis', ['^packages/redis/', '^bench/src/peers/']),
    door('uWebSockets.js', [`${gateway}transport/uws-server[.]ts$`, '^bench/src/peers/']),
    door('prom-client', ['^packages/runtime/']),
    {
      name: 'no-tests-in-sources',
      severity: 'error',
      comment: 'what is shipped knows no test',
      from: { pathNot: test },
      to: { path: test },
    },
    {
      name: 'no-circle',
      severity: 'error',
      comment: 'two modules that need each other are one module, or lack a third',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolves',
      severity: 'error',
      comment: 'an import that cannot be followed cannot be checked',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'types', 'default'] },
  },
};
