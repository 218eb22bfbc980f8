/** @throws Error with the messenger's own words */
export async function ask(method, path, body, token) {
  const response = await fetch(path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const answer = text === '' ? undefined : JSON.parse(text);
  if (!response.ok) throw new Error(answer?.error?.message ?? `${method} ${path}: ${response.status}`);
  return answer;
}

/** The messenger as one person may use it. The token is renewed when the gateway or the messenger wants a new one. */
export class Messenger {
  #userId;
  #login;

  constructor(userId) {
    this.#userId = userId;
  }

  async token({ refresh = false } = {}) {
    if (refresh || this.#login === undefined || this.#login.untilMs < Date.now()) {
      const { token, expires_in_s } = await ask('POST', '/login', { user_id: this.#userId });
      this.#login = { token, untilMs: Date.now() + (expires_in_s - 10) * 1000 };
    }
    return this.#login.token;
  }

  async ask(method, path, body) {
    return ask(method, path, body, await this.token());
  }
}
