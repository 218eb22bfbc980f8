import { createHash, timingSafeEqual } from 'node:crypto';

/** True when the `Authorization` header brings the token. Digests are compared, so the time tells neither content nor length. */
export function hasBearer(authorization: string | undefined, token: string): boolean {
  const sent = /^bearer +(.*)$/i.exec(authorization ?? '')?.[1]?.trim() ?? '';
  return timingSafeEqual(digest(sent), digest(token));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
