/** Blobs in Redis. */

import { randomUUID } from "node:crypto";
import { AppError } from "../../lib/base/errors/mod.ts";
import { retry } from "../../lib/storage/background/mod.ts";
import { chunksOf } from "../../lib/storage/chunks.ts";
import type { BlobInfo, BlobRange, Blobs, OpenBlob } from "../../lib/storage/ports.ts";
import { validateBlobName, validateBlobRange } from "../../lib/storage/validate.ts";
import { createClient, RedisConnection } from "./connection.ts";
import type { RedisAdapterOptions } from "./keys.ts";
import { KeySpace, keyOf, redisRetryMs } from "./keys.ts";
import { scriptOf } from "./script_cache.ts";

/** Bytes of a chunk of a blob: large enough for few commands, small enough that none holds up others. */
const blobChunkBytes = 262_144;
const blobChunksInFlightMax = 4;
/** For how long the server keeps what has arrived of a blob when no more arrives, in ms. */
const blobUploadMsMax = 3_600_000;
/** For how long those who are reading a blob when it is replaced can go on, in ms. */
const blobReplacedMsMax = 600_000;
const blobAttemptsMax = 64;

/**
 * Opens blobs on Redis 6.2 or later, standalone or Cluster, over a connection of their own, so that large bodies hold up
 * nothing else.
 *
 * A blob is a text that names an upload, and a hash of the upload's chunks in the same slot. An upload that never
 * completes expires. A blob that is replaced can still be read for {@linkcode blobReplacedMsMax} by those who
 * opened it before; one that is removed fails them.
 *
 * @throws {TypeError} The server's URL or the prefix cannot be used.
 */
export function createRedisBlobs(options: Omit<RedisAdapterOptions, "clock">): Blobs {
  return new RedisBlobs(options);
}

interface Head {
  readonly text: string;
  readonly upload: string;
  readonly size: number;
}

class RedisBlobs implements Blobs {
  readonly #connection: RedisConnection;
  readonly #keys: KeySpace;

  constructor({ server, prefix }: Omit<RedisAdapterOptions, "clock">) {
    this.#keys = new KeySpace(prefix);
    this.#connection = new RedisConnection(createClient(server));
  }

  async put(name: string, body: ReadableStream<Uint8Array>): Promise<BlobInfo> {
    validateBlobName(name);
    const upload = randomUUID();
    const key = this.#chunkKey(name, upload);
    const { count, size } = await this.#send(key, body).catch(async (error: unknown) => {
      // What cannot be removed now expires.
      await this.#connection.ask("unlink", [key]).catch(() => undefined);
      throw error;
    });
    const text = `${upload} ${size}`;
    const complete = async () => {
      const before = await this.#head(name);
      const keys = [upload, before?.upload ?? upload].map(one => this.#chunkKey(name, one));
      const args = [before?.text ?? "", text, String(count), String(blobReplacedMsMax)];
      const done = await this.#connection.run(blobCompleteScript, [[this.#headKey(name), ...keys], args]);
      if (done === -1) throw failed(`the blob ${name} arrived too slowly, and its beginning has expired`);
      return done === 1 ? { size } : undefined;
    };
    return await retry(complete, { attemptsMax: blobAttemptsMax, exhausted: () => contended(name) });
  }

  async get(name: string, range: BlobRange = {}): Promise<OpenBlob | null> {
    validateBlobName(name);
    validateBlobRange(range);
    const head = await this.#head(name);
    if (head === null) return null;
    const { size } = head;
    return { size, body: this.#stream(name, head, range) };
  }

  async remove(name: string): Promise<void> {
    validateBlobName(name);
    const unlink = async () => {
      const head = await this.#head(name);
      if (head === null) return true;
      const keys = [this.#headKey(name), this.#chunkKey(name, head.upload)];
      return (await this.#connection.run(blobRemoveScript, [keys, [head.text]])) === 1 ? true : undefined;
    };
    await retry(unlink, { attemptsMax: blobAttemptsMax, exhausted: () => contended(name) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
  }

  async #send(key: string, body: ReadableStream<Uint8Array>): Promise<{ count: number; size: number }> {
    const inFlight = new Set<Promise<unknown>>();
    let [count, size] = [0, 0];
    try {
      for await (const chunk of chunksOf(body, blobChunkBytes)) {
        if (inFlight.size >= blobChunksInFlightMax) await Promise.race(inFlight);
        const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
        const args = [String(count), bytes, String(blobUploadMsMax)];
        const sending = this.#connection
          .run(blobChunkScript, [[key], args], { binary: true })
          .then(stored => {
            if (Number(stored) === 0) throw full();
          });
        inFlight.add(sending);
        sending.then(() => inFlight.delete(sending)).catch(() => undefined);
        count += 1;
        size += chunk.length;
      }
      await Promise.all(inFlight);
    } catch (error) {
      await Promise.allSettled(inFlight);
      throw error;
    }
    return { count, size };
  }

  #stream(
    name: string,
    { upload, size }: Head,
    { start = 0, end = size }: BlobRange,
  ): ReadableStream<Uint8Array> {
    const [key, last] = [this.#chunkKey(name, upload), Math.min(end, size)];
    let position = start;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      if (position >= last) return controller.close();
      const number = Math.floor(position / blobChunkBytes);
      const chunk = await this.#connection.ask("hget", [key, String(number)], { binary: true });
      if (!(chunk instanceof Uint8Array)) throw failed(`the blob ${name} was removed while it was read`);
      const before = number * blobChunkBytes;
      const part = chunk.subarray(position - before, last - before);
      position += part.length;
      controller.enqueue(new Uint8Array(part));
    };
    return new ReadableStream({ pull }, { highWaterMark: 0 });
  }

  async #head(name: string): Promise<Head | null> {
    const text = await this.#connection.ask("get", [this.#headKey(name)]);
    if (typeof text !== "string") return null;
    const [upload = "", size] = text.split(" ");
    return { text, upload, size: Number(size) };
  }

  #headKey(name: string): string {
    return keyOf(this.#keys.root(name), "a", "");
  }

  #chunkKey(name: string, upload: string): string {
    return keyOf(this.#keys.root(name), "d", upload);
  }
}

function failed(state: string): AppError {
  return new AppError("storage_unavailable", `Cannot use Redis: ${state}`, { retryAfterMs: redisRetryMs });
}

function full(): AppError {
  const message = "Cannot store the file as Redis keeps the rest of its memory for other data: give it more";
  return new AppError("busy", message, { retryAfterMs: redisRetryMs });
}

function contended(name: string): AppError {
  const message = `Cannot change the blob ${name}: others have changed it ${blobAttemptsMax} times meanwhile`;
  return new AppError("busy", message, { retryAfterMs: redisRetryMs });
}

const blobChunkScript = scriptOf(`
-- Purpose: keeps one chunk of a blob that is arriving, unless that would leave too little memory for everything else.
--
-- KEYS: [1] the chunks of the upload
-- ARGV: [1] the number of the chunk, [2] its bytes, [3] time in ms for which the upload is kept if nothing more arrives
-- Returns: 1, or 0 if nine tenths of the server's memory are in use

if tonumber(ARGV[1]) % 16 == 0 then
  local info = redis.pcall('INFO', 'memory')
  if type(info) == 'string' then
    local most = tonumber(string.match(info, 'maxmemory:(%d+)')) or 0
    local used = tonumber(string.match(info, 'used_memory:(%d+)')) or 0
    if most > 0 and used > most * 0.9 then return 0 end
  end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])
`);

const blobCompleteScript = scriptOf(`
-- Purpose: completes an upload and replaces the blob by it.
--
-- KEYS: [1] the blob, [2] the chunks of the upload, [3] the chunks of the blob that is replaced, or [2] again
-- ARGV: [1] the current descriptor of the blob, or ''; [2] the new descriptor; [3] the number of chunks;
--       [4] time in ms for which the replaced chunks are kept for their readers
-- Returns: 1, or 0 if the blob has another descriptor, or -1 if chunks are missing

if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if redis.call('HLEN', KEYS[2]) ~= tonumber(ARGV[3]) then return -1 end
redis.call('PEXPIRE', KEYS[3], ARGV[4])
redis.call('PERSIST', KEYS[2])
redis.call('SET', KEYS[1], ARGV[2])
return 1
`);

const blobRemoveScript = scriptOf(`
-- Purpose: removes a blob without holding up the server for its bytes.
--
-- KEYS: [1] the blob, [2] its chunks
-- ARGV: [1] the current descriptor of the blob
-- Returns: 1, or 0 if it has another descriptor

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
return 1
`);
