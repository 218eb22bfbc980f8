import { idField, intField, optionalField } from '../http/fields.js';
import { type Route, route } from '../http/router.js';
import { userBody } from '../messenger/payloads.js';
import type { Users } from '../messenger/users.js';
import { Refusal } from '../refusal.js';
import type { SigningKeys } from '../tokens/signing-keys.js';
import type { TokenIssuer } from '../tokens/token-issuer.js';

/** The token issuer's door. Anybody may be anybody here: it is a sandbox, and asks for no password. */
export function loginRoutes(users: Users, tokens: TokenIssuer, keys: SigningKeys, maxTtlS: number): Route[] {
  const loginFields = { user_id: idField, ttl_s: optionalField(intField(1, maxTtlS)) };
  return [
    route('POST', '/login', async (request) => {
      const login = await request.readBody(loginFields);
      if (login instanceof Refusal) return login;
      const user = users.get(login.user_id);
      if (user instanceof Refusal) return user;
      const { token, expiresInS } = await tokens.issue(user.userId, login.ttl_s);
      return { body: { token, expires_in_s: expiresInS, user: userBody(user) } };
    }),
    route('GET', '/.well-known/jwks.json', () => ({ body: keys.jwks(), headers: { 'cache-control': 'no-cache' } })),
  ];
}
