import type { HttpRequest } from '../http/http-request.js';
import { type Parameters, type Reply, type Route, route } from '../http/router.js';
import { Refusal } from '../refusal.js';
import type { TokenIssuer } from '../tokens/token-issuer.js';

type UserHandler<P extends string> = (
  userId: string,
  request: HttpRequest,
  parameters: Parameters<P>,
) => Promise<Reply | Refusal> | Reply | Refusal;

/** Makes routes of the public API: without a good token they answer 401, before anything of the body is read. */
export class UserRoutes {
  readonly #tokens: TokenIssuer;

  constructor(tokens: TokenIssuer) {
    this.#tokens = tokens;
  }

  route<const P extends string>(method: string, path: P, handle: UserHandler<P>): Route {
    return route(method, path, async (request, parameters) => {
      const userId = await this.#tokens.authenticate(request.authorization);
      return userId instanceof Refusal ? userId : handle(userId, request, parameters);
    });
  }
}
