export { eventually, type EventuallyOptions } from './eventually.js';
export { type Certificate, createCertificate } from './network/certificate.js';
export { freePort } from './network/free-port.js';
export { FleetHome } from './processes/fleet-home.js';
export type { Exit, FleetProcess } from './processes/fleet-process.js';
export { type RedisServer, type RedisServerOptions, type RedisUser, startRedisServer } from './redis/redis-server.js';
