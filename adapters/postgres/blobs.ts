import { randomUUID } from "node:crypto";
import { chunksOf } from "../../lib/storage/chunks.ts";
import type { BlobInfo, BlobRange, Blobs, OpenBlob } from "../../lib/storage/ports.ts";
import { validateBlobName, validateBlobRange } from "../../lib/storage/validate.ts";
import { type PostgresAdapterOptions, unavailable } from "./options.ts";
import { Database, Session } from "./session.ts";
import { Sweeper } from "./sweeper.ts";

/** Bytes of a chunk of a blob: large enough for few statements, small enough that none holds up others. */
const blobChunkBytes = 262_144;
/** For how long the database keeps what has arrived of a blob when no more arrives, in ms. */
const blobUploadMsMax = 3_600_000;
/** For how long those who are reading a blob when it is replaced or removed can go on, in ms. */
const blobReplacedMsMax = 600_000;
/** Connections, so that a slow body holds up no other. */
const connections = 2;

/**
 * Opens blobs on PostgreSQL 14 or later, over two connections, so that large bodies hold up nothing else.
 *
 * A blob is a row that names an upload, and rows of the upload's chunks. An upload that never completes is removed later. A blob that is
 * replaced or removed can still be read for {@linkcode blobReplacedMsMax} by those who opened it before.
 *
 * @throws {TypeError} The URL or the schema cannot be used.
 */
export function createPostgresBlobs(options: Omit<PostgresAdapterOptions, "clock">): Blobs {
  return new PostgresBlobs(options);
}

interface Head {
  readonly upload: string;
  readonly size: number;
}

class PostgresBlobs implements Blobs {
  readonly #database: Database;
  readonly #sessions: readonly Session[];
  readonly #sweeper: Sweeper;
  #calls = 0;

  constructor(options: Omit<PostgresAdapterOptions, "clock">) {
    this.#database = new Database(options);
    this.#sessions = Array.from({ length: connections }, () => new Session(this.#database));
    this.#sweeper = new Sweeper(this.#database, this.#next(), "uploads");
  }

  async put(name: string, body: ReadableStream<Uint8Array>): Promise<BlobInfo> {
    validateBlobName(name);
    const upload = randomUUID();
    let [count, size] = [0, 0];
    try {
      for await (const chunk of chunksOf(body, blobChunkBytes)) {
        await this.#run("chunk_1", upload, count, chunk, blobUploadMsMax);
        count += 1;
        size += chunk.length;
      }
    } catch (error) {
      // What cannot be removed now is removed later.
      await this.#run("abandon_1", upload).catch(() => undefined);
      throw error;
    }
    const [[done = null] = []] = await this.#run("complete_1", name, upload, count, size, blobReplacedMsMax);
    if (done !== "t") throw unavailable(`the blob ${name} arrived too slowly, and its beginning was removed`);
    return { size };
  }

  async get(name: string, range: BlobRange = {}): Promise<OpenBlob | null> {
    validateBlobName(name);
    validateBlobRange(range);
    const { schema } = this.#database;
    const text = `select upload, size from ${schema}.blobs where name = $1`;
    const [row] = await this.#next().call({ name: "blob", text }, [name], { isRead: true });
    if (row === undefined) return null;
    const [upload = null, size = null] = row;
    const head = { upload: upload ?? "", size: Number(size) };
    return { size: head.size, body: this.#stream(name, head, range) };
  }

  async remove(name: string): Promise<void> {
    validateBlobName(name);
    await this.#run("remove_1", name, blobReplacedMsMax);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sweeper[Symbol.dispose]();
    await Promise.all(this.#sessions.map(session => session[Symbol.asyncDispose]()));
  }

  #next(): Session {
    const session = this.#sessions[this.#calls++ % connections];
    if (session === undefined) throw new RangeError("There is no connection");
    return session;
  }

  #run(name: string, ...values: readonly unknown[]): ReturnType<Session["call"]> {
    return this.#next().call(this.#database.statement(name, values.length), values);
  }

  #stream(
    name: string,
    { upload, size }: Head,
    { start = 0, end = size }: BlobRange,
  ): ReadableStream<Uint8Array> {
    const last = Math.min(end, size);
    const text = `select bytes from ${this.#database.schema}.chunks where upload = $1 and number = $2`;
    let position = start;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      if (position >= last) return controller.close();
      const number = Math.floor(position / blobChunkBytes);
      const [row] = await this.#next().call({ name: "chunk", text }, [upload, number], { isRead: true });
      if (row === undefined) throw unavailable(`the blob ${name} was removed while it was read`);
      // As text, bytes are "\x" and hexadecimal digits.
      const chunk = Buffer.from((row[0] ?? "").slice(2), "hex");
      const before = number * blobChunkBytes;
      const part = chunk.subarray(position - before, last - before);
      position += part.length;
      controller.enqueue(new Uint8Array(part));
    };
    return new ReadableStream({ pull }, { highWaterMark: 0 });
  }
}
