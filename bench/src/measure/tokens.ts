import type { TokenIssuer } from '@event-gateway/fleet';
import type { LoadUser } from '../load/protocols/client-protocol.js';
import { userId } from '../workload/user-id.js';

const aDayS = 86_400;

/** Users with their tokens, each signed once in a run: a signature takes longer than what it is needed for. */
export class Tokens {
  readonly #issuer: TokenIssuer;
  readonly #users = new Map<number, LoadUser>();

  constructor(issuer: TokenIssuer) {
    this.#issuer = issuer;
  }

  users(from: number, count: number): LoadUser[] {
    return Array.from({ length: count }, (_, index) => this.#user(from + index));
  }

  #user(index: number): LoadUser {
    const known = this.#users.get(index);
    if (known !== undefined) return known;
    const id = userId(index);
    const user = { id, token: this.#issuer.token(id, { expiresInS: aDayS }) };
    this.#users.set(index, user);
    return user;
  }
}
