import type { IncomingMessage } from 'node:http';
import { Refusal } from '../refusal.js';
import { type Fields, type FieldValues, readFields } from './fields.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** One request, as the handlers see it. */
export class HttpRequest {
  readonly method: string;
  /** Without the query, still percent-encoded. */
  readonly path: string;
  readonly #incoming: IncomingMessage;
  readonly #query: string;
  readonly #maxBodyBytes: number;

  constructor(incoming: IncomingMessage, maxBodyBytes: number) {
    const [path = '/', ...query] = (incoming.url ?? '/').split('?');
    this.method = incoming.method ?? 'GET';
    this.path = path;
    this.#query = query.join('?');
    this.#incoming = incoming;
    this.#maxBodyBytes = maxBodyBytes;
  }

  get authorization(): string | undefined {
    return this.#incoming.headers.authorization;
  }

  readQuery<F extends Fields>(fields: F): FieldValues<F> | Refusal {
    return readFields(Object.fromEntries(new URLSearchParams(this.#query)), fields);
  }

  /** @param maxBytes when this body may be larger (or must be smaller) than others */
  async readBody<F extends Fields>(fields: F, maxBytes = this.#maxBodyBytes): Promise<FieldValues<F> | Refusal> {
    const body = await this.readJson(maxBytes);
    return body instanceof Refusal ? body : readFields(body, fields);
  }

  async readJson(maxBytes = this.#maxBodyBytes): Promise<unknown> {
    const bytes = await this.readBytes(maxBytes);
    if (bytes instanceof Refusal) return bytes;
    try {
      return JSON.parse(utf8.decode(bytes)) as unknown;
    } catch (error) {
      // SyntaxError: not JSON. TypeError: not UTF-8.
      if (error instanceof SyntaxError || error instanceof TypeError) return new Refusal('bad_json', 'the body must be JSON in UTF-8');
      throw error;
    }
  }

  /** Never holds more than the limit, however long the body turns out to be. */
  async readBytes(maxBytes = this.#maxBodyBytes): Promise<Buffer | Refusal> {
    const tooLarge = new Refusal('payload_too_large', `the body may have at most ${maxBytes} bytes`);
    if (Number(this.#incoming.headers['content-length'] ?? 0) > maxBytes) return tooLarge;
    const chunks: Buffer[] = [];
    let size = 0;
    // Leaving the loop early must not destroy the socket: the refusal has yet to be written to it.
    for await (const chunk of this.#incoming.iterator({ destroyOnReturn: false })) {
      if (!Buffer.isBuffer(chunk)) throw new TypeError('the request stream has been given an encoding');
      size += chunk.length;
      if (size > maxBytes) return tooLarge;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }
}
