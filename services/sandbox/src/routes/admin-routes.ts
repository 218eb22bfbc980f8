import { optionalField, textField } from '../http/fields.js';
import { type Route, route } from '../http/router.js';
import { userBody } from '../messenger/payloads.js';
import type { Users } from '../messenger/users.js';
import { Refusal } from '../refusal.js';
import type { SigningKeys } from '../tokens/signing-keys.js';
import { refuseStranger } from './owner-routes.js';

const userFields = { display_name: textField(100), avatar_url: optionalField(textField(2000)), status: optionalField(textField(200)) };

/** For whoever runs the sandbox. With a token, only who brings it is answered. */
export function adminRoutes(users: Users, keys: SigningKeys, adminToken: string | undefined): Route[] {
  return [
    route('POST', '/admin/rotate-keys', async (request) => refuseStranger(request, adminToken) ?? { body: { kid: await keys.rotate() } }),
    route('PUT', '/admin/users/:userId', async (request, { userId }) => {
      const fields = refuseStranger(request, adminToken) ?? (await request.readBody(userFields));
      if (fields instanceof Refusal) return fields;
      const { display_name: displayName, avatar_url: avatarUrl, status } = fields;
      const { user, isNew } = users.put({ userId, displayName, avatarUrl, status });
      return { status: isNew ? 201 : 200, body: userBody(user) };
    }),
  ];
}
