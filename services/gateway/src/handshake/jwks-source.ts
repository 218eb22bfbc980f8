import { request } from 'undici';

/** A key set of some dozen keys is a few KB. */
const maxBytes = 262_144;

/** An unknown key waits for this answer, and with it a socket that is not open yet. */
const maxWaitMs = 3000;

/** The JWKS endpoint did not give a key set. */
export class JwksUnavailableError extends Error {
  readonly code = 'JWKS_UNAVAILABLE';
  readonly retryable = true;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'JwksUnavailableError';
  }
}

/**
 * One GET of the key set: bounded in time and size, redirects not followed, the connection not kept.
 * @returns the parsed JSON, whatever it is.
 * @throws JwksUnavailableError
 */
export async function fetchJwks(url: string, signal: AbortSignal, timeoutMs = maxWaitMs): Promise<unknown> {
  try {
    const { statusCode, body } = await request(url, {
      headers: { accept: 'application/json' },
      reset: true,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const text = await readText(body);
    if (statusCode !== 200) throw new JwksUnavailableError(`the JWKS endpoint answered ${statusCode}`);
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof JwksUnavailableError) throw error;
    throw new JwksUnavailableError('the JWKS endpoint gave no key set', { cause: error });
  }
}

/** Leaving the loop destroys the body, and with it the connection. */
async function readText(body: AsyncIterable<unknown>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) continue;
    bytes += chunk.length;
    if (bytes > maxBytes) throw new JwksUnavailableError(`the key set is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
