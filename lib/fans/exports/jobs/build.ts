/** Builds the file of a job: users in pages, rows as text, text in parts. */

import { concatBytes } from "@noble/hashes/utils.js";
import { AppError } from "../../../base/errors/mod.ts";
import { bytesPerUnitMax } from "../../../base/text/mod.ts";
import { createPause } from "../../../storage/background/mod.ts";
import type { Blobs } from "../../../storage/mod.ts";
import type { CompiledSearch, PrintedPage, UserSearch } from "../../audience/mod.ts";
import { base64, base64Bytes, fromBase64 } from "../file/base64.ts";
import { decodedPieces } from "../file/decrypt.ts";
import { fileHeader } from "../file/header.ts";
import type { ExportKernels, GcmEncryption } from "../file/kernels.ts";
import { nobleGcm } from "../file/noble_gcm.ts";
import { type RowEncoder, rowEncoder } from "../file/rows.ts";
import { type ExportSecret, exportKey } from "../file/secret.ts";
import type { ExportLease } from "./export_lease.ts";
import type { Checkpoint, ExportJob, ExportProgress, ExportResult, PartRef } from "./job.ts";
import {
  digestOf,
  fileParts,
  fileStream,
  headName,
  isStored,
  partName,
  rowParts,
  sizeOf,
  streamOf,
} from "./stored_file.ts";

export const exportUsersMax = 1_000_000;
const pageUsers = 256;

export interface BuildOptions {
  readonly blobs: Blobs;
  readonly search: UserSearch;
  readonly kernels?: ExportKernels | undefined;
  /** @default exportUsersMax */
  readonly usersMax?: number | undefined;
  /** Aborted when the process is about to end. */
  readonly stopping: AbortSignal;
}

export type BuiltFile = Omit<ExportResult, "completedAt">;

/** The process is about to end; another one continues the job. */
export class ProcessStopping extends Error {
  override readonly name = "ProcessStopping";
}

type StepOptions = BuildOptions & {
  /** Called between two steps: lets requests run, renews the lease, and throws if the process is about to end. */
  readonly between: (examined?: number) => Promise<void>;
};

/**
 * Builds what is missing of a job's file.
 *
 * @throws {LeaseLost} Another process holds the job.
 * @throws {ProcessStopping} The process is about to end; the stored parts count.
 * @throws {AppError} `limit_reached`: too many users; `validation_failed`: the filter or fields are no longer valid; and all
 *   errors of the stores.
 */
export async function buildFile(
  lease: ExportLease,
  secret: ExportSecret | null,
  options: BuildOptions,
): Promise<BuiltFile> {
  const { blobs, kernels } = options;
  const steps = { ...options, between: betweenSteps(lease, options) };
  await discardHead(lease);
  await confirmLastPart(lease, blobs);
  const cipher = secret === null ? null : await resumeCipher(lease.job, secret, steps);
  if (!lease.job.progress.isWhole) await writeRows(lease, cipher, steps);
  if (secret !== null && cipher !== null) await writeHead(lease, blobs, { secret, cipher });
  const parts = fileParts(lease.job);
  const sha256 = await digestOf(parts, { blobs, sha256: kernels?.sha256, between: steps.between });
  return { rowCount: lease.job.progress.rows, fileSize: sizeOf(parts), sha256 };
}

function betweenSteps(lease: ExportLease, { kernels, stopping }: BuildOptions): StepOptions["between"] {
  const pause = createPause(kernels?.nextTurn);
  return async examined => {
    if (stopping.aborted) throw new ProcessStopping();
    await pause();
    await lease.renew(examined);
  };
}

/**
 * Restores the encryption of a file after its last part. The state of GCM cannot be stored, but it follows from the
 * plaintext: decrypting the stored parts and encrypting them again produces the same bytes and the state after them.
 */
async function resumeCipher(
  job: ExportJob,
  { password, salt, iv }: ExportSecret,
  { blobs, kernels, between }: StepOptions,
): Promise<GcmEncryption> {
  const gcm = kernels?.aes256Gcm ?? nobleGcm;
  const secret = { key: await exportKey(password, salt), iv };
  const cipher = gcm.encrypt(secret);
  const { parts, rest } = job.progress;
  if (parts.length === 0) return cipher;
  const decipher = gcm.decrypt(secret);
  for await (const piece of decodedPieces(await fileStream(blobs, rowParts(job)))) {
    await cipher.update(await decipher.update(piece));
    await between();
  }
  await cipher.update(await decipher.update(fromBase64(rest) ?? new Uint8Array(0)));
  return cipher;
}

async function writeRows(
  lease: ExportLease,
  cipher: GcmEncryption | null,
  options: StepOptions,
): Promise<void> {
  const { spaceId, filter, fields, format } = lease.job.request;
  const search = await options.search.compile(lease.job.organisationId, { spaceId, filter, fields });
  const writer = new PartWriter(lease, { ...options, cipher });
  try {
    await walkUsers(lease.job, { search, writer, encoder: rowEncoder(format, search.fields) }, options);
  } finally {
    // A part in flight belongs to this lease: it must settle before the lease ends.
    await writer.settled();
  }
}

async function walkUsers(
  job: ExportJob,
  {
    search,
    writer,
    encoder,
  }: { readonly search: CompiledSearch; readonly writer: PartWriter; readonly encoder: RowEncoder },
  { between, usersMax = exportUsersMax }: StepOptions,
): Promise<void> {
  let { cursor, rows, examined } = job.progress;
  if (job.progress.position === 0) await writer.write(encoder.head());
  let next = readAhead(search, cursor);
  for (;;) {
    const page = await next;
    // The next page is read while this one is written.
    if (page.cursor !== null) next = readAhead(search, page.cursor);
    await writer.write(textOf(page, encoder, rows === 0));
    ({ cursor } = page);
    rows += page.rows.length;
    examined += page.examined;
    if (rows > usersMax) {
      throw new AppError("limit_reached", `Cannot export more than ${usersMax} users: narrow the filter`);
    }
    if (cursor === null) break;
    if (writer.isFull) await writer.endPart({ cursor, rows, examined });
    await between(examined);
  }
  await writer.write(encoder.tail());
  await writer.end({ cursor, rows, examined });
}

function readAhead(search: CompiledSearch, cursor: string | null): Promise<PrintedPage> {
  const page = search.printedPage({ cursor, limit: pageUsers });
  // If writing fails first, nothing awaits the page.
  page.catch(() => {});
  return page;
}

function textOf({ rows }: PrintedPage, encoder: RowEncoder, isFirst: boolean): string {
  let text = "";
  for (const [index, values] of rows.entries()) text += encoder.row(values, isFirst && index === 0);
  return text;
}

/** Writes the header, which contains the tag and is therefore written last. */
async function writeHead(
  lease: ExportLease,
  blobs: Blobs,
  { secret, cipher }: { readonly secret: ExportSecret; readonly cipher: GcmEncryption },
): Promise<void> {
  const header = fileHeader({ ...secret, tag: await cipher.finish() });
  const head: PartRef = [lease.job.fence, header.length];
  await lease.save({ head });
  await blobs.put(headName(lease.job, head), streamOf([header]));
}

/** Discards the header of a process that did not finish. */
async function discardHead(lease: ExportLease): Promise<void> {
  const { head, strays } = lease.job;
  if (head !== null) await lease.save({ head: null, strays: [...strays, headName(lease.job, head)] });
}

/** Size from which a part is stored when a page of users ends, in bytes. */
const partBytesMin = 4 * 1_024 * 1_024;
/** Initial size of a buffer: a little more than a part. */
const bufferBytes = 5 * 1_024 * 1_024;
const chunkBytes = 256 * 1_024;

interface PartWriterOptions {
  readonly blobs: Blobs;
  readonly kernels?: ExportKernels | undefined;
  /** Null if the file is not encrypted. */
  readonly cipher: GcmEncryption | null;
}

type WalkPosition = Pick<Checkpoint, "cursor" | "rows" | "examined">;

/** Checks whether the last part is stored, and goes back to the checkpoint before it if not. */
async function confirmLastPart(lease: ExportLease, blobs: Blobs): Promise<void> {
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

/**
 * Writes a file in parts that survive their writer.
 *
 * Before a part is stored, the job records the checkpoint after it and the one before it. A successor checks whether the part
 * is stored: if so it counts, otherwise the walk continues from before. The next part confirms the one before, which makes one
 * commit for each. No two texts under the same piece of the key stream are ever stored, and no user is in the file twice.
 */
class PartWriter {
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
