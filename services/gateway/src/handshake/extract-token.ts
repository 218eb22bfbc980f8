import { queryParameter } from './query-parameter.js';

/** Where a token may be, as copied from the request; an empty text is an absent header. */
export interface TokenSources {
  /** The `Authorization` header. */
  readonly authorization: string | undefined;
  /** The `Sec-WebSocket-Protocol` header. */
  readonly subprotocols: string | undefined;
  /** The query without its `?`. */
  readonly query: string | undefined;
}

export interface ExtractedToken {
  /** As it came; undefined when there is none. */
  readonly token: string | undefined;
  /**
   * What the server must select: a client that offers subprotocols fails the connection unless one of them is answered, whichever way
   * its token was taken. Never the token itself.
   */
  readonly subprotocol: 'bearer' | undefined;
}

/** Takes the token from the header, else the subprotocol pair `bearer, <JWT>`, else the query. */
export function extractToken(sources: TokenSources): ExtractedToken {
  const offered = (sources.subprotocols ?? '').split(',').map((item) => item.trim());
  const bearerAt = offered.indexOf('bearer');
  const fromSubprotocol = bearerAt < 0 ? undefined : offered[bearerAt + 1];
  const token = bearerOf(sources.authorization) || fromSubprotocol || queryParameter(sources.query, 'token');
  return { token: token === '' ? undefined : token, subprotocol: bearerAt < 0 ? undefined : 'bearer' };
}

/**
 * What follows `Bearer`, whatever it is: a malformed token there is refused and not passed over for another one. Other schemes are
 * somebody else's (a proxy's) and say nothing about a token.
 */
function bearerOf(authorization: string | undefined): string | undefined {
  return /^bearer +(.*)$/i.exec(authorization ?? '')?.[1]?.trim();
}
