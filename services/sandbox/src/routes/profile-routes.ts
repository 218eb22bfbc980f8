import { optionalField, textField } from '../http/fields.js';
import type { Route } from '../http/router.js';
import { userBody } from '../messenger/payloads.js';
import type { Users } from '../messenger/users.js';
import { Refusal } from '../refusal.js';
import type { UserRoutes } from './user-routes.js';

export const profileFields = {
  display_name: optionalField(textField(100)),
  avatar_url: optionalField(textField(2000)),
  status: optionalField(textField(200)),
};

export function profileRoutes(api: UserRoutes, users: Users): Route[] {
  return [
    api.route('GET', '/api/me', (userId) => {
      const user = users.get(userId);
      return user instanceof Refusal ? user : { body: userBody(user) };
    }),
    api.route('PATCH', '/api/me', async (userId, request) => {
      const fields = await request.readBody(profileFields);
      if (fields instanceof Refusal) return fields;
      const { display_name: displayName, avatar_url: avatarUrl, status } = fields;
      const user = users.update(userId, {
        ...(displayName === undefined ? {} : { displayName }),
        ...(avatarUrl === undefined ? {} : { avatarUrl }),
        ...(status === undefined ? {} : { status }),
      });
      return user instanceof Refusal ? user : { body: userBody(user) };
    }),
    api.route('GET', '/api/users', () => ({ body: { users: users.list().map(userBody) } })),
  ];
}
