/**
 * Builds the file of a job: users in pages, rows as text, text in parts.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import { createPause } from "../../../storage/background/mod.ts";
import type { Blobs } from "../../../storage/mod.ts";
import type { CompiledSearch, PrintedPage, UserSearch } from "../../audience/mod.ts";
import { fromBase64 } from "../file/base64.ts";
import { decodedPieces } from "../file/file_reader.ts";
import { fileHeader } from "../file/header.ts";
import type { ExportKernels, GcmEncryption } from "../file/kernels.ts";
import { nobleGcm } from "../file/noble_gcm.ts";
import { type RowEncoder, rowEncoder } from "../file/rows.ts";
import { type ExportSecret, exportKey } from "../file/secret.ts";
import type { ExportLease } from "./export_lease.ts";
import type { ExportJob, ExportResult, PartRef } from "./job.ts";
import { confirmLastPart, PartWriter } from "./part_writer.ts";
import { digestOf, fileParts, fileStream, headName, rowParts, sizeOf, streamOf } from "./stored_file.ts";

/** Most users of an export. */
export const exportUsersMax = 1_000_000;
/** Users that are read at a time. */
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

/** A finished file, except for the time. */
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
