import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { Refusal } from '../refusal.js';
import type { Reply } from './router.js';

const TYPES: ReadonlyMap<string, string> = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
]);

/** The page's own files, its own sockets and nothing else. */
const PAGE_POLICY = "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'";

/** Serves the files below one folder, of the types above. A name that could lead out of it is refused before it touches the disk. */
export class StaticFiles {
  readonly #folder: URL;

  /** @param folder ends with a slash */
  constructor(folder: URL) {
    this.#folder = folder;
  }

  async read(path: string): Promise<Reply | Refusal> {
    const type = TYPES.get(extname(path));
    if (type === undefined || !plainPath.test(path)) return noSuchFile;
    try {
      const bytes = await readFile(new URL(path, this.#folder));
      return { content: { type, bytes }, headers: { 'cache-control': 'no-cache', 'content-security-policy': PAGE_POLICY } };
    } catch (error) {
      if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EISDIR')) return noSuchFile;
      throw error;
    }
  }
}

/** Segments that begin with a letter or a digit: no `..`, no hidden file, no scheme, no backslash. */
const plainPath = /^[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*(\/[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*)*$/i;
const noSuchFile = new Refusal('not_found', 'there is no such file');
