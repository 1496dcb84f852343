/**
 * Writes a file in parts that survive their writer.
 *
 * Before a part is stored, the job records the checkpoint after it and the one before it. A successor checks whether the part
 * is stored: if so it counts, otherwise the walk continues from before. The next part confirms the one before, which makes one
 * commit for each. No two texts under the same piece of the key stream are ever stored, and no user is in the file twice.
 *
 * @module
 */

import { concatBytes } from "@noble/hashes/utils.js";
import type { Blobs } from "../../../storage/mod.ts";
import { base64, base64Bytes, fromBase64 } from "../file/base64.ts";
import type { ExportKernels, GcmEncryption } from "../file/kernels.ts";
import type { ExportLease } from "./export_lease.ts";
import type { Checkpoint, ExportProgress, PartRef } from "./job.ts";
import { isStored, partName, streamOf } from "./stored_file.ts";

/** Size from which a part is stored when a page of users ends, in bytes. */
const partBytesMin = 4 * 1_024 * 1_024;
/** Initial size of a buffer: a little more than a part. */
const bufferBytes = 5 * 1_024 * 1_024;
const chunkBytes = 256 * 1_024;
/** Most bytes of UTF-8 for a unit of UTF-16. */
const bytesPerUnitMax = 3;

interface PartWriterOptions {
  readonly blobs: Blobs;
  readonly kernels?: ExportKernels | undefined;
  /** Null if the file is not encrypted. */
  readonly cipher: GcmEncryption | null;
}

type WalkPosition = Pick<Checkpoint, "cursor" | "rows" | "examined">;

/** Checks whether the last part is stored, and goes back to the checkpoint before it if not. */
export async function confirmLastPart(lease: ExportLease, blobs: Blobs): Promise<void> {
  const { job } = lease;
  const { before, parts } = job.progress;
  const last = parts.at(-1);
  if (before === null || last === undefined) return;
  const name = partName(job, last, parts.length - 1);
  if (await isStored(blobs, { name, bytes: last[1] })) {
    return await lease.save({ progress: { ...job.progress, before: null } });
  }
  const progress: ExportProgress = { ...before, parts: parts.slice(0, -1), isWhole: false, before: null };
  await lease.save({ progress, strays: [...job.strays, name] });
}

export class PartWriter {
  readonly #lease: ExportLease;
  readonly #options: PartWriterOptions;
  #position: number;
  /** Up to two bytes of ciphertext that wait for a third. */
  #rest: Uint8Array;
  #filling = new PartBuffer();
  /** The buffer of the part in flight, which is free once that part is stored. */
  #leaving = new PartBuffer();
  readonly #encoder = new TextEncoder();
  #scratch: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #stored: Promise<unknown> = Promise.resolve();

  constructor(lease: ExportLease, options: PartWriterOptions) {
    this.#lease = lease;
    this.#options = options;
    const { position, rest } = lease.job.progress;
    this.#position = position;
    this.#rest = fromBase64(rest) ?? new Uint8Array(0);
  }

  /** True if the part is large enough to be stored. */
  get isFull(): boolean {
    return this.#filling.length >= partBytesMin;
  }

  async write(text: string): Promise<void> {
    const { cipher } = this.#options;
    const plain = this.#encode(text);
    this.#position += plain.length;
    if (cipher === null) this.#filling.add(plain);
    else this.#addEncrypted(await cipher.update(plain));
  }

  /** Begins to store the part. Resolves when the part before is stored. */
  async endPart(position: WalkPosition): Promise<void> {
    await this.#store(position, false);
  }

  /** Stores the last part. Resolves when all parts are stored. */
  async end(position: WalkPosition): Promise<void> {
    this.#filling.add(base64Bytes(this.#rest, this.#options.kernels));
    this.#rest = new Uint8Array(0);
    await this.#store(position, true);
    await this.#stored;
  }

  /** Resolves when no part is in flight. */
  async settled(): Promise<void> {
    await this.#stored.catch(() => {});
  }

  /** Encodes text into memory that the next call overwrites: new memory for each page would be most of the garbage. */
  #encode(text: string): Uint8Array {
    const longest = text.length * bytesPerUnitMax;
    if (this.#scratch.length < longest) this.#scratch = new Uint8Array(longest);
    const { written } = this.#encoder.encodeInto(text, this.#scratch);
    return this.#scratch.subarray(0, written);
  }

  /** Adds the Base64 of whole groups of three bytes; the rest waits for the next ones. */
  #addEncrypted(bytes: Uint8Array): void {
    const { kernels } = this.#options;
    const missing = this.#rest.length === 0 ? 0 : Math.min(3 - this.#rest.length, bytes.length);
    const first = concatBytes(this.#rest, bytes.subarray(0, missing));
    const others = bytes.subarray(missing);
    if (first.length % 3 !== 0) {
      this.#rest = first;
      return;
    }
    const whole = others.length - (others.length % 3);
    this.#filling.add(base64Bytes(first, kernels));
    this.#filling.add(base64Bytes(others.subarray(0, whole), kernels));
    this.#rest = others.slice(whole);
  }

  async #store(position: WalkPosition, isWhole: boolean): Promise<void> {
    await this.#stored;
    const { job } = this.#lease;
    const { parts, before: _before, isWhole: _isWhole, ...before } = job.progress;
    const ref: PartRef = [job.fence, this.#filling.length];
    const progress: ExportProgress = {
      ...position,
      position: this.#position,
      rest: base64(this.#rest),
      parts: [...parts, ref],
      isWhole,
      before,
    };
    const body = streamOf(this.#filling.chunks());
    this.#leaving.clear();
    [this.#filling, this.#leaving] = [this.#leaving, this.#filling];
    await this.#lease.save({ progress, tries: 1 });
    this.#stored = this.#options.blobs.put(partName(job, ref, parts.length), body);
    // A failure is thrown by the next call that awaits the part.
    this.#stored.catch(() => {});
  }
}

/**
 * The bytes of a growing part, in memory that is reused for the part after the next. Parts live long enough to reach the old
 * generation of the heap, where those of many seconds would accumulate.
 */
class PartBuffer {
  #bytes: Uint8Array = new Uint8Array(bufferBytes);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends a copy of the bytes. */
  add(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  /** Returns views of the bytes. */
  chunks(): readonly Uint8Array[] {
    const chunks: Uint8Array[] = [];
    for (let from = 0; from < this.#length; from += chunkBytes) {
      chunks.push(this.#bytes.subarray(from, Math.min(from + chunkBytes, this.#length)));
    }
    return chunks;
  }

  clear(): void {
    this.#length = 0;
  }
}
