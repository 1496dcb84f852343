/**
 * Writes a file in parts that survive their writer.
 *
 * Before a part is stored, the job says how far the walk will have come with it, and how far it had come before. So whoever takes
 * the job over looks whether the part is there: then it counts, else the walk goes on from before. The next part confirms the one
 * before it, which makes one commit for each. No two texts are ever encrypted by the same piece of the key stream and stored
 * both, and no user is in the file twice.
 *
 * @module
 */

import { concatBytes } from "@noble/hashes/utils.js";
import type { Blobs } from "../../storage/mod.ts";
import type { HeldJob } from "../jobs/export_lease.ts";
import type { ExportJob, Milestone, PartRef, Progress } from "../jobs/job.ts";
import type { ExportKernels, GcmEncryption } from "./kernels.ts";
import { base64Bytes } from "./mod.ts";
import { PartBuffer } from "./part_buffer.ts";
import { isStored, partName, streamOf } from "./parts.ts";

/** Bytes of a part, before Base64, from which it is stored when the next page of users ends. */
export const partBytesMin: number = 4 * 1_024 * 1_024;

/** Most bytes of UTF-8 for a unit of UTF-16. */
const bytesPerUnitMax = 3;

/** What writing parts needs. */
export interface PartWriterOptions {
  readonly blobs: Blobs;
  readonly kernels?: ExportKernels | undefined;
  /** Null where the file is not encrypted. */
  readonly cipher: GcmEncryption | null;
}

/** Where the walk over the users is. */
export type Walked = Pick<Milestone, "cursor" | "rows" | "examined">;

/** Decides whether the last part counts, which nobody has confirmed. */
export async function settleLastPart(held: HeldJob, blobs: Blobs): Promise<void> {
  const { job } = held;
  const { before, parts } = job.progress;
  const last = parts.at(-1);
  if (before === null || last === undefined) return;
  const name = partName(job, last, parts.length - 1);
  if (await isStored(blobs, { name, bytes: last[1] })) {
    await held.save({ progress: { ...job.progress, before: null } });
    return;
  }
  const progress: Progress = { ...before, parts: parts.slice(0, -1), isWhole: false, before: null };
  await held.save({ progress, strays: [...job.strays, name] });
}

/** The parts of one file. */
export class PartWriter {
  readonly #held: HeldJob;
  readonly #options: PartWriterOptions;
  #position: number;
  #rest: Uint8Array;
  #filling = new PartBuffer();
  /** That of the part on its way; it is free once that part is stored. */
  #leaving = new PartBuffer();
  readonly #encoder = new TextEncoder();
  #scratch: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  /** The part on its way into the store. */
  #stored: Promise<unknown> = Promise.resolve();

  constructor(held: HeldJob, options: PartWriterOptions) {
    this.#held = held;
    this.#options = options;
    const { position, rest } = held.job.progress;
    this.#position = position;
    this.#rest = Uint8Array.from(atob(rest), char => char.charCodeAt(0));
  }

  /** Whether the part is large enough to be stored. */
  get isFull(): boolean {
    return this.#filling.length >= partBytesMin;
  }

  /** Adds text to the part. */
  async write(text: string): Promise<void> {
    const { cipher } = this.#options;
    const plain = this.#encoded(text);
    this.#position += plain.length;
    if (cipher === null) this.#filling.add(plain);
    else this.#addEncrypted(await cipher.update(plain));
  }

  /** Stores the part, while the next one is made. The part before is stored when this resolves. */
  async endPart(walked: Walked): Promise<void> {
    await this.#store(walked, false);
  }

  /** Stores the last part, and resolves once all are stored. */
  async end(walked: Walked): Promise<void> {
    this.#filling.add(base64Bytes(this.#rest, this.#options.kernels));
    this.#rest = new Uint8Array(0);
    await this.#store(walked, true);
    await this.#stored;
  }

  /** Resolves once nothing is on its way into the store. */
  async settled(): Promise<void> {
    await this.#stored.catch(() => {});
  }

  /** The text in bytes, which the next call overwrites: made anew for each page they would be most of what is thrown away. */
  #encoded(text: string): Uint8Array {
    const longest = text.length * bytesPerUnitMax;
    if (this.#scratch.length < longest) this.#scratch = new Uint8Array(longest);
    const { written } = this.#encoder.encodeInto(text, this.#scratch);
    return this.#scratch.subarray(0, written);
  }

  /** Base64 of whole groups of three bytes; the rest waits for the next ones. */
  #addEncrypted(bytes: Uint8Array): void {
    const { kernels } = this.#options;
    const missing = this.#rest.length === 0 ? 0 : Math.min(3 - this.#rest.length, bytes.length);
    const first = concatBytes(this.#rest, bytes.subarray(0, missing));
    const behind = bytes.subarray(missing);
    if (first.length % 3 !== 0) {
      this.#rest = first;
      return;
    }
    const whole = behind.length - (behind.length % 3);
    this.#filling.add(base64Bytes(first, kernels));
    this.#filling.add(base64Bytes(behind.subarray(0, whole), kernels));
    this.#rest = behind.slice(whole);
  }

  async #store(walked: Walked, isWhole: boolean): Promise<void> {
    await this.#stored;
    const { job } = this.#held;
    const { parts, before: _before, isWhole: _isWhole, ...before } = job.progress;
    const ref: PartRef = [job.fence, this.#filling.length];
    const progress: Progress = {
      ...walked,
      position: this.#position,
      rest: btoa(String.fromCharCode(...this.#rest)),
      parts: [...parts, ref],
      isWhole,
      before,
    };
    const body = streamOf(this.#filling.slices());
    this.#leaving.empty();
    [this.#filling, this.#leaving] = [this.#leaving, this.#filling];
    await this.#held.save({ progress, tries: 1 });
    this.#stored = this.#put(job, ref, { index: parts.length, body });
    // What fails here is thrown by whoever waits for the part next.
    this.#stored.catch(() => {});
  }

  async #put(
    job: ExportJob,
    ref: PartRef,
    { index, body }: { readonly index: number; readonly body: ReadableStream<Uint8Array> },
  ): Promise<void> {
    await this.#options.blobs.put(partName(job, ref, index), body);
  }
}
