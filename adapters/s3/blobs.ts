/** Blobs in a bucket. */

import type { BlobInfo, BlobRange, Blobs, OpenBlob } from "../../lib/storage/ports.ts";
import { validateBlobName, validateBlobRange } from "../../lib/storage/validate.ts";
import { partBytes } from "./bounds.ts";
import type { S3BlobsOptions } from "./bucket.ts";
import { errorCodeOf, refusedRequest } from "./failure.ts";
import { guardedBody, S3Requests } from "./requests.ts";
import { partsOf, S3Upload } from "./upload.ts";

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

  /** Nothing of a blob, with its size. */
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
