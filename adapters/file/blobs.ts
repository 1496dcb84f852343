/** Blobs as files of one directory. */
import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BlobInfo, BlobRange, Blobs, OpenBlob } from "../../lib/storage/ports.ts";
import { validateBlobName, validateBlobRange } from "../../lib/storage/validate.ts";

export const fileChunkBytesMax = 65_536;
/** Age, in ms, from which what arrived of a blob is taken for left behind by a process that ended. */
export const fileLeftoverMsMin = 86_400_000;

const partPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/;

/** Options of blobs in files. */
export interface FileBlobsOptions {
  /** Unix ms. @default Date.now */
  readonly clock?: () => number;
}

/**
 * Creates blobs that are kept in a directory, which is made on the first `put`.
 *
 * A blob is the file `<hash>.blob`, the hash being the SHA-256 of its name in hex: so that any two names are two files
 * on every file system, whatever it thinks of letter case, length or `a` beside `a/b`. A blob that is arriving is
 * `<uuid>.part`, renamed once it is complete and on disk; the first `put` removes what ended processes have left of such.
 */
export function createFileBlobs(directory: string, { clock = Date.now }: FileBlobsOptions = {}): Blobs {
  return new FileBlobs(directory, clock);
}

class FileBlobs implements Blobs {
  readonly #directory: string;
  readonly #clock: () => number;
  #isSwept = false;

  constructor(directory: string, clock: () => number) {
    this.#directory = directory;
    this.#clock = clock;
  }

  async put(name: string, body: ReadableStream<Uint8Array>): Promise<BlobInfo> {
    const path = this.#path(name);
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    if (!this.#isSwept) await this.#sweep();
    const part = join(this.#directory, `${randomUUID()}.part`);
    try {
      const size = await writeAll(part, body);
      await rename(part, path);
      return { size };
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }

  async get(name: string, range: BlobRange = {}): Promise<OpenBlob | null> {
    const path = this.#path(name);
    validateBlobRange(range);
    const file = await openExisting(path);
    if (file === null) return null;
    try {
      const { size } = await file.stat();
      return { size, body: streamOf(file, range.start ?? 0, Math.min(range.end ?? size, size)) };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    await rm(this.#path(name), { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #sweep(): Promise<void> {
    this.#isSwept = true;
    for (const file of await readdir(this.#directory)) {
      if (!partPattern.test(file)) continue;
      const path = join(this.#directory, file);
      // Another process may be sweeping too.
      const modifiedAt = await stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => Number.POSITIVE_INFINITY,
      );
      if (this.#clock() - modifiedAt >= fileLeftoverMsMin) await rm(path, { force: true });
    }
  }

  #path(name: string): string {
    validateBlobName(name);
    return join(this.#directory, `${createHash("sha256").update(name).digest("hex")}.blob`);
  }
}

/** Writes the stream to a new file and returns its size once the bytes are on disk. */
async function writeAll(path: string, body: ReadableStream<Uint8Array>): Promise<number> {
  const file = await open(path, "wx", 0o600);
  try {
    let size = 0;
    for await (const chunk of body) {
      await file.writeFile(chunk);
      size += chunk.byteLength;
    }
    await file.sync();
    return size;
  } finally {
    await file.close();
  }
}

async function openExisting(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** Returns the bytes of the file from `start` to `end`; the file is closed at the end, on failure and on cancel. */
function streamOf(file: FileHandle, start: number, end: number): ReadableStream<Uint8Array> {
  let position = start;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const length = Math.min(fileChunkBytesMax, end - position);
          const buffer = new Uint8Array(Math.max(0, length));
          const { bytesRead } = length > 0 ? await file.read(buffer, 0, length, position) : { bytesRead: 0 };
          if (bytesRead === 0) {
            await file.close();
            controller.close();
            return;
          }
          position += bytesRead;
          controller.enqueue(buffer.subarray(0, bytesRead));
        } catch (error) {
          await file.close();
          throw error;
        }
      },
      cancel: () => file.close(),
    },
    { highWaterMark: 0 },
  );
}
