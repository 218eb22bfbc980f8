/**
 * The first value of a parameter in a raw query (without its `?`), percent-decoded. What cannot be decoded comes as it is: whoever reads
 * the value finds it invalid. A `+` stays one.
 */
export function queryParameter(query: string | undefined, name: string): string | undefined {
  for (const pair of (query ?? '').split('&')) {
    const equalsAt = pair.indexOf('=');
    const key = equalsAt < 0 ? pair : pair.slice(0, equalsAt);
    if (percentDecode(key) === name) return equalsAt < 0 ? '' : percentDecode(pair.slice(equalsAt + 1));
  }
  return undefined;
}

function percentDecode(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // what a URIError means here is in the text itself
  }
}
