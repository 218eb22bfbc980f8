import { isId } from '@event-gateway/protocol';
import type { Refusal } from '../refusal.js';
import type { HttpRequest } from './http-request.js';

/** What a handler answers when it does not refuse. */
export interface Reply {
  /** Default 200. */
  readonly status?: number;
  /** Sent as JSON, unless `content` is there. */
  readonly body?: unknown;
  readonly content?: { readonly type: string; readonly bytes: Uint8Array };
  readonly headers?: Readonly<Record<string, string>>;
}

/** The names behind the colons of a path, and its `*`: `/users/:userId/card` has `userId`. */
type ParameterNames<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterNames<Rest>
  : P extends `${string}:${infer Name}`
    ? Name
    : P extends `${string}/*`
      ? '*'
      : never;
export type Parameters<P extends string> = Readonly<Record<ParameterNames<P>, string>>;

export interface Route {
  readonly method: string;
  readonly path: string;
  handle(request: HttpRequest, parameters: Readonly<Record<string, string>>): Promise<Reply | Refusal> | Reply | Refusal;
}

export type Match =
  | { readonly route: Route; readonly parameters: Readonly<Record<string, string>> }
  | { readonly allowed: readonly string[] }
  | 'bad_path'
  | 'not_found';

export function route<const P extends string>(
  method: string,
  path: P,
  handle: (request: HttpRequest, parameters: Parameters<P>) => Promise<Reply | Refusal> | Reply | Refusal,
): Route {
  // The router fills in exactly the names that the path has.
  return { method, path, handle: (request, parameters) => handle(request, parameters) };
}

/**
 * Finds the route of a path. A parameter is one segment, percent-decoded, and an id; `*` as the last segment takes the rest of the path
 * as it is.
 */
export class Router {
  readonly #routes: readonly { route: Route; segments: readonly string[] }[];

  constructor(routes: readonly Route[]) {
    this.#routes = routes.map((one) => ({ route: one, segments: one.path.split('/') }));
  }

  match(method: string, path: string): Match {
    const segments = path.split('/');
    const allowed: string[] = [];
    for (const { route: candidate, segments: pattern } of this.#routes) {
      const raw = matchSegments(pattern, segments);
      if (raw === undefined) continue;
      if (candidate.method !== method) {
        allowed.push(candidate.method);
        continue;
      }
      const parameters = decodeParameters(raw);
      return parameters === undefined ? 'bad_path' : { route: candidate, parameters };
    }
    return allowed.length > 0 ? { allowed } : 'not_found';
  }
}

function matchSegments(pattern: readonly string[], segments: readonly string[]): Map<string, string> | undefined {
  const takesRest = pattern.at(-1) === '*';
  if (takesRest ? segments.length < pattern.length : segments.length !== pattern.length) return undefined;
  const parameters = new Map<string, string>();
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? '';
    if (part === '*') parameters.set('*', segments.slice(index).join('/'));
    else if (part.startsWith(':') && segment !== '') parameters.set(part.slice(1), segment);
    else if (part !== segment) return undefined;
  }
  return parameters;
}

function decodeParameters(raw: ReadonlyMap<string, string>): Record<string, string> | undefined {
  try {
    const parameters = [...raw].map(([name, value]) => [name, name === '*' ? value : decodeURIComponent(value)] as const);
    return parameters.every(([name, value]) => name === '*' || isId(value)) ? Object.fromEntries(parameters) : undefined;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
