/** 1,000 user ids of 128 units fit, each unit written as `\uXXXX`. */
const maxBodyBytes = 1_048_576;

/** What is too large is read to its end and thrown away, or the client would not see the answer; but not for ever. */
const maxDiscardedBytes = 8 * maxBodyBytes;

/** The body of a request, or that it is larger than 1 MiB. The server's request timeout bounds how long it may take. */
export async function readBody(message: AsyncIterable<unknown>): Promise<Uint8Array | 'too_large'> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of message) {
    if (!(chunk instanceof Uint8Array)) continue;
    bytes += chunk.length;
    if (bytes <= maxBodyBytes) chunks.push(chunk);
    else chunks.length = 0;
    if (bytes > maxDiscardedBytes) break;
  }
  return bytes > maxBodyBytes ? 'too_large' : Buffer.concat(chunks);
}
