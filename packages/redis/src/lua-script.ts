import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A script in its own `.lua` file beside its caller. Sent as EVALSHA; as EVAL where the server does not know it yet. */
export class LuaScript {
  /** File name, for errors. */
  readonly name: string;
  readonly source: string;
  readonly sha: string;

  constructor(name: string, source: string) {
    this.name = name;
    this.source = source;
    this.sha = createHash('sha1').update(source).digest('hex');
  }

  /**
   * Reads the file at once: `LuaScript.load(new URL('./scripts/renew-lease.lua', import.meta.url))`.
   * @param preludes files whose local functions the script uses, put in front of it: Redis gives scripts no other way to share any
   */
  static load(url: URL, ...preludes: readonly URL[]): LuaScript {
    const source = [...preludes, url].map((file) => readFileSync(file, 'utf8')).join('');
    return new LuaScript(url.pathname.split('/').pop() ?? url.pathname, source);
  }
}
