/** Streams in parts of one size. */

/** The bytes of a stream in parts of `size` bytes, the last of which may be shorter; each is a copy. */
export async function* partsOf(
  body: ReadableStream<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let chunks: Uint8Array[] = [];
  let filled = 0;
  for await (const piece of body) {
    for (let from = 0; from < piece.length; ) {
      const chunk = piece.slice(from, from + size - filled);
      chunks.push(chunk);
      filled += chunk.length;
      from += chunk.length;
      if (filled < size) continue;
      yield joined(chunks, filled);
      [chunks, filled] = [[], 0];
    }
  }
  if (filled > 0) yield joined(chunks, filled);
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const part = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    part.set(chunk, at);
    at += chunk.length;
  }
  return part;
}
