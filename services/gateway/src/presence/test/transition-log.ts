import { decodePresenceMessage, type PresenceMessage } from '@event-gateway/protocol';
import { channels, RedisConnections } from '@event-gateway/redis';
import { silentLogger, systemClock } from '@event-gateway/runtime';

/** Everything that was published about presence, as an outsider sees it. */
export class TransitionLog {
  readonly messages: PresenceMessage[] = [];
  readonly redis: RedisConnections;

  constructor(url: string) {
    // A log that reconnected because Redis stood still for a while would miss what follows.
    this.redis = new RedisConnections({ url, commandTimeoutMs: 15_000 }, systemClock, silentLogger);
  }

  async start(): Promise<this> {
    this.redis.subscriber.subscribe(channels.presence, (text) => {
      const message = decodePresenceMessage(text);
      if (message === undefined) throw new Error(`not a presence message: ${text}`);
      this.messages.push(message);
    });
    this.redis.start();
    await this.redis.subscriber.whenSubscribed();
    while (!this.redis.command.isUp) await new Promise((resolve) => setTimeout(resolve, 5));
    return this;
  }

  stop(): void {
    this.redis.stop();
  }

  of(userId: string): string[] {
    return this.messages.filter((message) => message.userId === userId).map(({ status }) => status);
  }

  count(status: PresenceMessage['status']): number {
    return this.messages.filter((message) => message.status === status).length;
  }

  call(command: string, ...args: (string | number)[]): Promise<unknown> {
    return this.redis.command.call(command, ...args);
  }
}
