import { type Calls, isCall } from './child-calls.js';

export type Handlers<C extends Calls> = {
  readonly [N in keyof C]: (request: C[N]['request']) => C[N]['reply'] | Promise<C[N]['reply']>;
};

/** The other end of `Child`: answers its calls, each when its handler is done, and ends this process with the parent. */
export function serveParent<C extends Calls>(handlers: Handlers<C>): void {
  process.on('disconnect', () => process.exit(0));
  process.on('message', (message: unknown) => {
    if (!isCall(message)) return;
    const { id, name, request } = message;
    answer(handlers, name, request).then(
      (reply: unknown) => process.send?.({ id, reply }),
      (error: unknown) => process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
  });
}

async function answer<C extends Calls>(handlers: Handlers<C>, name: string, request: unknown): Promise<unknown> {
  const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
  if (handler === undefined) throw new Error(`nobody answers ${name}`);
  return handler(request);
}
