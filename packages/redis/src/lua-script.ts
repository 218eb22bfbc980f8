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

  /** Reads the file at once: `LuaScript.load(new URL('./scripts/renew-lease.lua', import.meta.url))`. */
  static load(url: URL): LuaScript {
    return new LuaScript(url.pathname.split('/').pop() ?? url.pathname, readFileSync(url, 'utf8'));
  }
}
