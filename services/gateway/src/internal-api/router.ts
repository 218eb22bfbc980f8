import type { Answer } from './answer.js';

/** A request that found its route. */
export interface RouteRequest {
  /** Values of the `:name` segments in order, percent-decoded. */
  readonly params: readonly string[];
  /** Raw, without the `?`. */
  readonly query: string;
  /** Its body is still to be read. */
  readonly message: AsyncIterable<unknown>;
}

export type Handler = (request: RouteRequest) => Answer | Promise<Answer>;

interface Route {
  readonly segments: readonly string[];
  readonly byMethod: ReadonlyMap<string, Handler>;
}

export type Match =
  | { readonly handler: Handler; readonly params: readonly string[] }
  | { readonly miss: 'not_found' | 'bad_path' }
  | { readonly miss: 'method_not_allowed'; readonly allow: string };

/** Finds the handler of a method and a path; `:name` in a pattern takes one segment. */
export class Router {
  readonly #routes: Route[] = [];

  add(pattern: string, handlers: Readonly<Partial<Record<'GET' | 'POST', Handler>>>): this {
    const byMethod = new Map(Object.entries(handlers));
    const get = byMethod.get('GET');
    if (get !== undefined) byMethod.set('HEAD', get); // the body is left out by the server
    this.#routes.push({ segments: pattern.split('/'), byMethod });
    return this;
  }

  match(method: string, path: string): Match {
    const segments = path.split('/');
    const route = this.#routes.find((candidate) => fits(candidate.segments, segments));
    if (route === undefined) return { miss: 'not_found' };
    const handler = route.byMethod.get(method);
    if (handler === undefined) return { miss: 'method_not_allowed', allow: [...route.byMethod.keys()].join(', ') };
    const params = paramsOf(route.segments, segments);
    return params === undefined ? { miss: 'bad_path' } : { handler, params };
  }
}

function fits(pattern: readonly string[], segments: readonly string[]): boolean {
  return pattern.length === segments.length && pattern.every((part, i) => part.startsWith(':') || part === segments[i]);
}

/** Decoded after the split, so that an id may contain a slash; undefined when one cannot be decoded. */
function paramsOf(pattern: readonly string[], segments: readonly string[]): string[] | undefined {
  try {
    return segments.filter((_, i) => pattern[i]?.startsWith(':')).map((segment) => decodeURIComponent(segment));
  } catch {
    return undefined; // what a URIError means here is that the path is malformed
  }
}
