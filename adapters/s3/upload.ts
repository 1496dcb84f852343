/** Uploads in parts, of which nothing is seen until they complete. */

import { AppError } from "../../lib/base/errors/mod.ts";
import { partBytes, partsMax } from "./bounds.ts";
import { elementOf, errorCodeOf, lostAnswer, refusedRequest } from "./failure.ts";
import type { S3Requests } from "./requests.ts";

/** A running upload. */
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
