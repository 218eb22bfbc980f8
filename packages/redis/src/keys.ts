/** Every Redis key that the gateway owns. The names are a contract: other services and operators read some of them. */
export const keys = {
  presence: (userId: string) => `presence:${userId}`,
  presenceOnline: 'presence.online',
  presenceLastSeen: 'presence.last_seen',
  presencePeers: (userId: string) => `presence.peers:${userId}`,
  presenceSweptAt: 'presence.swept_at',
  replicas: 'gateway.replicas',
  replica: (replicaId: string) => `gateway.replica:${replicaId}`,
  /** Client id of the replica's blocking reader; also the name under which that connection shows in CLIENT LIST. */
  reader: (replicaId: string) => `gateway.reader:${replicaId}`,
  epoch: (stream: string) => `gateway.epoch:${stream}`,
  canary: (replicaId: string) => `gateway.canary:${replicaId}`,
  /** The claim of a dead letter: whoever sets it writes the letter. */
  dead: (stream: string, entryId: string) => `gateway.dead:${stream}:${entryId}`,
  deadLetters: (stream: string) => `${stream}.dead`,
  group: (replicaId: string) => `gateway-${replicaId}`,
  /** One group for the whole fleet: the incident that this product exists to prevent, for those who want to see it. */
  sharedGroup: 'gateway-shared',
} as const;
