/** Replaces each `${NAME}`; nginx's own variables have no braces. @throws on a name without a value, or a value without a place */
export function renderTemplate(template: string, values: Readonly<Record<string, string>>): string {
  const unused = new Set(Object.keys(values));
  const rendered = template.replace(/^[ \t]*#.*$|\$\{([A-Z_]+)\}/gm, (text, name: string | undefined) => {
    if (name === undefined) return text; // a comment may speak of ${NAME}s
    const value = values[name];
    if (value === undefined) throw new Error(`the template asks for ${name}, which has no value`);
    unused.delete(name);
    return value;
  });
  if (unused.size > 0) throw new Error(`the template has no place for ${[...unused].join(', ')}`);
  return rendered;
}
