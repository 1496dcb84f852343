/** Uploads in parts, of which nothing is seen until they complete. */

import { AppError } from "../../lib/errors/mod.ts";
import { partBytes, partsMax } from "./bounds.ts";
import { elementOf, lost, reasonOf, refused } from "./failure.ts";
import type { S3Requests } from "./requests.ts";

/** An upload that is under way. */
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
    if (!response.ok || id === "") throw refused(response.status, reasonOf(text));
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
    if (!response.ok || tag === null) throw refused(response.status, reasonOf(text));
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
    const reason = reasonOf(text);
    // Where the first answer was lost, the second attempt finds that the upload is no more.
    if (reason === "NoSuchUpload") throw lost(new Error(reason), { isWrite: true });
    throw refused(response.ok ? 500 : response.status, reason);
  }

  /** Lets the service forget the parts; what fails of that is left to the bucket's rule. */
  async abort(): Promise<void> {
    const query = { uploadId: this.#id };
    await this.#requests.send({ method: "DELETE", name: this.#name, query }).catch(() => undefined);
  }
}
