/** Returns the bytes of a stream in chunks of `size` bytes, the last of which may be shorter; each is a copy. */
export async function* chunksOf(body: ReadableStream<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let chunk = new Uint8Array(size);
  let filled = 0;
  for await (const piece of body) {
    for (let from = 0; from < piece.length; ) {
      const part = piece.subarray(from, from + size - filled);
      chunk.set(part, filled);
      filled += part.length;
      from += part.length;
      if (filled < size) continue;
      yield chunk;
      chunk = new Uint8Array(size);
      filled = 0;
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}
