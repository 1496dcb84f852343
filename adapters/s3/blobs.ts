/** Blobs in a bucket. */

import { AppError } from "../../lib/base/errors/mod.ts";
import type { BlobInfo, BlobRange, Blobs, OpenBlob } from "../../lib/storage/ports.ts";
import { validateBlobName, validateBlobRange } from "../../lib/storage/validate.ts";
import {
  elementOf,
  errorCodeOf,
  guardedBody,
  lostAnswer,
  partBytes,
  partsMax,
  refusedRequest,
  type S3BlobsOptions,
  S3Requests,
} from "./requests.ts";

/**
 * Opens blobs in a bucket, which must exist. A blob larger than a part is uploaded in parts; a rule of the bucket should
 * remove the parts of uploads that never completed, because a process that dies cannot.
 *
 * @throws {TypeError} The endpoint is no URL.
 */
export function createS3Blobs(options: S3BlobsOptions): Blobs {
  if (!/^https?:\/\/[^/?#@]+\/?$/.test(options.endpoint)) {
    throw new TypeError(
      "Cannot use S3: the endpoint must be an http or https URL without path and credentials",
    );
  }
  return new S3Blobs(new S3Requests(options));
}

class S3Blobs implements Blobs {
  readonly #requests: S3Requests;

  constructor(requests: S3Requests) {
    this.#requests = requests;
  }

  async put(name: string, body: ReadableStream<Uint8Array>): Promise<BlobInfo> {
    validateBlobName(name);
    let size = 0;
    let upload: S3Upload | null = null;
    try {
      for await (const part of partsOf(body, partBytes)) {
        size += part.length;
        if (upload === null && part.length < partBytes) {
          await this.#putWhole(name, part);
          return { size };
        }
        upload ??= await S3Upload.begin(this.#requests, name);
        await upload.add(part);
      }
    } catch (error) {
      await upload?.abort();
      throw error;
    }
    if (upload === null) await this.#putWhole(name, new Uint8Array(0));
    else await upload.complete();
    return { size };
  }

  async get(name: string, range: BlobRange = {}): Promise<OpenBlob | null> {
    validateBlobName(name);
    validateBlobRange(range);
    const { start = 0, end } = range;
    if (end !== undefined && end <= start) return await this.#empty(name);
    const isWhole = start === 0 && end === undefined;
    const headers = isWhole ? {} : { range: `bytes=${start}-${end === undefined ? "" : end - 1}` };
    const answer = await this.#requests.send({ method: "GET", name, headers });
    const { response, text } = answer;
    if (response.status === 200 || response.status === 206) {
      const size = sizeOf(response);
      if (size > 0) return { size, body: guardedBody(answer) };
      // Of nothing there is no range, and services differ in what they answer.
      answer.abort();
      return { size, body: nothing() };
    }
    const reason = errorCodeOf(text);
    if (response.status === 416) return await this.#empty(name);
    if (response.status === 404 && reason !== "NoSuchBucket") return null;
    throw refusedRequest(response.status, reason);
  }

  async remove(name: string): Promise<void> {
    validateBlobName(name);
    const { response, text } = await this.#requests.send({ method: "DELETE", name });
    const reason = errorCodeOf(text);
    const isGone = response.ok || (response.status === 404 && reason !== "NoSuchBucket");
    if (!isGone) throw refusedRequest(response.status, reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #putWhole(name: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
    const { response, text } = await this.#requests.send({ method: "PUT", name, body });
    if (!response.ok) throw refusedRequest(response.status, errorCodeOf(text));
  }

  async #empty(name: string): Promise<OpenBlob | null> {
    const { response } = await this.#requests.send({ method: "HEAD", name });
    if (response.status === 404) return null;
    if (!response.ok) throw refusedRequest(response.status, "");
    return { size: Number(response.headers.get("content-length")), body: nothing() };
  }
}

function nothing(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: controller => controller.close() });
}

/** Returns the size of the whole blob, of which the answer may be a part. */
function sizeOf({ status, headers }: Response): number {
  const total = status === 206 ? headers.get("content-range")?.split("/")[1] : headers.get("content-length");
  const size = Number(total ?? Number.NaN);
  if (Number.isSafeInteger(size)) return size;
  throw refusedRequest(status, "without the size of the blob");
}

export class S3Upload {
  readonly #requests: S3Requests;
  readonly #name: string;
  readonly #id: string;
  readonly #tags: string[] = [];

  private constructor(requests: S3Requests, { name, id }: { readonly name: string; readonly id: string }) {
    this.#requests = requests;
    this.#name = name;
    this.#id = id;
  }

  /** @throws {AppError} The service does not begin one. */
  static async begin(requests: S3Requests, name: string): Promise<S3Upload> {
    const { response, text } = await requests.send({ method: "POST", name, query: { uploads: "" } });
    const id = elementOf(text, "UploadId");
    if (!response.ok || id === "") throw refusedRequest(response.status, errorCodeOf(text));
    return new S3Upload(requests, { name, id });
  }

  /** @throws {AppError} The service does not take the part. */
  async add(body: Uint8Array<ArrayBuffer>): Promise<void> {
    const number = this.#tags.length + 1;
    if (number > partsMax) {
      throw new AppError("internal_error", `Cannot store a blob of more than ${partsMax * partBytes} bytes`);
    }
    const query = { partNumber: String(number), uploadId: this.#id };
    const { response, text } = await this.#requests.send({ method: "PUT", name: this.#name, query, body });
    const tag = response.headers.get("etag");
    if (!response.ok || tag === null) throw refusedRequest(response.status, errorCodeOf(text));
    this.#tags.push(tag);
  }

  /**
   * Makes the parts the blob. The service may fail after it has begun to answer that all is well, so the text decides.
   *
   * @throws {AppError} The service does not say that it did.
   */
  async complete(): Promise<void> {
    const parts = this.#tags.map(
      (tag, index) =>
        `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag.replace(/[&<>]/g, "")}</ETag></Part>`,
    );
    const xml = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
    const { response, text } = await this.#requests.send({
      method: "POST",
      name: this.#name,
      query: { uploadId: this.#id },
      headers: { "content-type": "application/xml" },
      body: new TextEncoder().encode(xml),
    });
    if (response.ok && elementOf(text, "ETag") !== "") return;
    const reason = errorCodeOf(text);
    // If the first answer was lost, the second attempt finds no upload any more.
    if (reason === "NoSuchUpload") throw lostAnswer(new Error(reason), { isWrite: true });
    throw refusedRequest(response.ok ? 500 : response.status, reason);
  }

  /** Lets the service forget the parts; what fails of that is left to the bucket's rule. */
  async abort(): Promise<void> {
    const query = { uploadId: this.#id };
    await this.#requests.send({ method: "DELETE", name: this.#name, query }).catch(() => undefined);
  }
}

/** Returns the bytes of a stream in parts of `size` bytes, the last of which may be shorter; each is a copy. */
async function* partsOf(
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
