/**
 * Builds the file of a job: users in pages, rows as text, text in parts.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { Blobs } from "../../storage/mod.ts";
import { digestOf } from "../file/digest.ts";
import { continuedCipher } from "../file/file_cipher.ts";
import type { ExportKernels, GcmEncryption } from "../file/kernels.ts";
import { type ExportSecret, fileHeader, type RowEncoder, rowEncoder } from "../file/mod.ts";
import { PartWriter, settleLastPart } from "../file/part_writer.ts";
import { headName, piecesOf, streamOf } from "../file/parts.ts";
import type { HeldJob } from "./export_lease.ts";
import type { PartRef } from "./job.ts";
import type { CompiledSource, ExportSource, SourcePage } from "./source.ts";
import { createPause } from "./turns.ts";

/** Most users of an export. */
export const exportUsersMax = 1_000_000;
/** Users that are read at a time. */
export const exportPageUsers = 256;

/** What building needs. */
export interface BuildOptions {
  readonly blobs: Blobs;
  readonly source: ExportSource;
  readonly kernels?: ExportKernels | undefined;
  /** @default exportUsersMax */
  readonly usersMax?: number;
  /** Aborted when the process is about to end. */
  readonly stopping: AbortSignal;
}

/** What became of a file, beside the facts that the job knows. */
export interface BuiltFile {
  readonly rowCount: number;
  readonly fileSize: number;
  readonly sha256: string;
}

/** The process is about to end: somebody else goes on. */
export class Stopping extends Error {
  override readonly name = "Stopping";
}

/**
 * Writes what is still missing of the job's file.
 *
 * @throws {LeaseLost} Another process has the job.
 * @throws {Stopping} The process ends; what is stored counts.
 * @throws {AppError} `limit_reached`: more users than an export may have; `validation_failed`: the criteria are no longer
 *   right; whatever the stores throw.
 */
export async function buildFile(
  held: HeldJob,
  secret: ExportSecret | null,
  options: BuildOptions,
): Promise<BuiltFile> {
  const { blobs, kernels } = options;
  const between = betweenSteps(held, options);
  await dropHead(held);
  await settleLastPart(held, blobs);
  const cipher =
    secret === null ? null : await continuedCipher(held.job, secret, { blobs, kernels, between });
  if (!held.job.progress.isWhole) await writeRows(held, cipher, { ...options, between });
  if (secret !== null && cipher !== null) await writeHead(held, blobs, { secret, cipher });
  const pieces = piecesOf(held.job);
  const sha256 = await digestOf(pieces, { blobs, sha256: kernels?.sha256, between });
  const fileSize = pieces.reduce((sum, { bytes }) => sum + bytes, 0);
  return { rowCount: held.job.progress.rows, fileSize, sha256 };
}

/** Lets requests have their turn, keeps the job, and stops where the process ends. */
function betweenSteps(
  held: HeldJob,
  { kernels, stopping }: Pick<BuildOptions, "kernels" | "stopping">,
): () => Promise<void> {
  const pause = createPause(kernels?.nextTurn);
  return async () => {
    if (stopping.aborted) throw new Stopping("The process ends");
    await pause();
    await held.keep();
  };
}

type WriteOptions = BuildOptions & { readonly between: () => Promise<void> };

async function writeRows(held: HeldJob, cipher: GcmEncryption | null, options: WriteOptions): Promise<void> {
  const { spaceId, filter, fields, format } = held.job.request;
  const source = await options.source.compile(held.job.organisationId, { spaceId, filter, fields });
  const writer = new PartWriter(held, { ...options, cipher });
  try {
    await walk({ held, source, writer, encoder: rowEncoder(format, source.fields) }, options);
  } finally {
    // A part on its way belongs to this holder: nothing of it may be left running.
    await writer.settled();
  }
}

interface Walk {
  readonly held: HeldJob;
  readonly source: CompiledSource;
  readonly writer: PartWriter;
  readonly encoder: RowEncoder;
}

async function walk(
  { held, source, writer, encoder }: Walk,
  { between, usersMax = exportUsersMax }: WriteOptions,
): Promise<void> {
  let { cursor, rows, examined, position } = held.job.progress;
  if (position === 0) await writer.write(encoder.head());
  let next: Promise<SourcePage> = ahead(source, cursor);
  for (;;) {
    const page = await next;
    // Reading goes on while this page is written.
    if (page.cursor !== null) next = ahead(source, page.cursor);
    await writer.write(textOf(page, encoder, rows === 0));
    ({ cursor } = page);
    rows += page.rows.length;
    examined += page.examined;
    if (rows > usersMax) throw tooManyUsers(usersMax);
    if (cursor === null) break;
    if (writer.isFull) await writer.endPart({ cursor, rows, examined });
    await between();
  }
  await writer.write(encoder.tail());
  await writer.end({ cursor, rows, examined });
}

function ahead(source: CompiledSource, cursor: string | null): Promise<SourcePage> {
  const page = source.printedPage({ cursor, limit: exportPageUsers });
  // Where writing fails first, nobody waits for it any more.
  page.catch(() => {});
  return page;
}

function textOf(page: SourcePage, encoder: RowEncoder, isFirst: boolean): string {
  let text = "";
  let first = isFirst;
  for (const values of page.rows) {
    text += encoder.row(values, first);
    first = false;
  }
  return text;
}

/** The error of an export that has more users than it may have. */
function tooManyUsers(usersMax: number): AppError {
  const message = `Cannot export more than ${usersMax} users: narrow the filter`;
  return new AppError("limit_reached", message);
}

/** What stands before the data is decided by its end, so it is written last. */
async function writeHead(
  held: HeldJob,
  blobs: Blobs,
  { secret, cipher }: { readonly secret: ExportSecret; readonly cipher: GcmEncryption },
): Promise<void> {
  const header = fileHeader({ ...secret, tag: await cipher.finish() });
  const head: PartRef = [held.job.fence, header.length];
  await held.save({ head });
  await blobs.put(headName(held.job, head), streamOf([header]));
}

/** The head of a process that did not come to the end is not needed: it is made anew. */
async function dropHead(held: HeldJob): Promise<void> {
  const { head, strays } = held.job;
  if (head !== null) await held.save({ head: null, strays: [...strays, headName(held.job, head)] });
}
