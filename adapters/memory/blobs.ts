/** Blobs in memory. */
import type { BlobInfo, BlobRange, Blobs, OpenBlob } from "../../lib/storage/ports.ts";
import { validateBlobName, validateBlobRange } from "../../lib/storage/validate.ts";

/** Creates blobs that live as long as the process; bodies are handed out in the chunks that they arrived in. */
export function createMemoryBlobs(): Blobs {
  return new MemoryBlobs();
}

interface Stored extends BlobInfo {
  readonly chunks: readonly Uint8Array[];
}

class MemoryBlobs implements Blobs {
  readonly #blobs = new Map<string, Stored>();

  async put(name: string, body: ReadableStream<Uint8Array>): Promise<BlobInfo> {
    validateBlobName(name);
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of body) {
      chunks.push(chunk.slice());
      size += chunk.byteLength;
    }
    this.#blobs.set(name, { size, chunks });
    return { size };
  }

  async get(name: string, range: BlobRange = {}): Promise<OpenBlob | null> {
    validateBlobName(name);
    validateBlobRange(range);
    const stored = this.#blobs.get(name);
    if (stored === undefined) return null;
    const { start = 0, end = stored.size } = range;
    return { size: stored.size, body: streamOf(partsOf(stored.chunks, start, end)) };
  }

  async remove(name: string): Promise<void> {
    validateBlobName(name);
    this.#blobs.delete(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#blobs.clear();
  }
}

/** Copies of the parts of the chunks from `start` to `end`, each made when it is asked for. */
function* partsOf(
  chunks: readonly Uint8Array[],
  start: number,
  end: number,
): Generator<Uint8Array<ArrayBuffer>> {
  let offset = 0;
  for (const chunk of chunks) {
    const [from, to] = [Math.max(start - offset, 0), Math.min(end - offset, chunk.byteLength)];
    if (to > from) yield new Uint8Array(chunk.subarray(from, to));
    offset += chunk.byteLength;
  }
}

function streamOf(parts: Iterator<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = parts.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
}
