import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Every Markdown file that people read, by its path in the repository. */
function pagesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^(node_modules|dist|coverage|\..*)$/.test(entry.name) ? [] : pagesUnder(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

/** As GitHub makes them out of headings. */
function anchorsOf(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test.each(pagesUnder('.'))('every link of %s to something here leads somewhere', (page) => {
  const links = [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((?![a-z]+:)([^)#\s]*)(?:#([^)]+))?\)/g)];
  for (const [, path = '', anchor] of links) {
    const target = path === '' ? join(root, page) : join(root, dirname(page), path);
    expect(existsSync(target), path).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(target), `${path}#${anchor}`).toContain(anchor);
  }
});
