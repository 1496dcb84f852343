/** The file of an export as it is stored: parts that are read as one stream. */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { AppError } from "../../../base/errors/mod.ts";
import type { Blobs } from "../../../storage/mod.ts";
import type { Hash } from "../file/mod.ts";
import type { ExportJob, ExportRef, PartRef } from "./job.ts";

/** Bytes hashed before other work gets a turn; about 2 ms in portable code. */
const hashSliceBytes = 262_144;

interface StoredPart {
  readonly name: string;
  readonly bytes: number;
}

/** A range of bytes, the end exclusive. */
interface FileRange {
  readonly start: number;
  readonly end: number;
}

/** Names a part. The name contains the fencing token of its writer, so that a stale process overwrites nothing. */
export function partName({ organisationId, exportId }: ExportRef, [fence]: PartRef, index: number): string {
  return `exports/${organisationId}/${exportId}/${fence}-${index}`;
}

/** Names the part that holds the header. */
export function headName({ organisationId, exportId }: ExportRef, [fence]: PartRef): string {
  return `exports/${organisationId}/${exportId}/${fence}-head`;
}

export function rowParts(job: ExportJob): readonly StoredPart[] {
  return job.progress.parts.map((ref, index) => ({ name: partName(job, ref, index), bytes: ref[1] }));
}

export function fileParts(job: ExportJob): readonly StoredPart[] {
  const { head } = job;
  return [...(head === null ? [] : [{ name: headName(job, head), bytes: head[1] }]), ...rowParts(job)];
}

export function sizeOf(parts: readonly StoredPart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

export async function isStored(blobs: Blobs, { name, bytes }: StoredPart): Promise<boolean> {
  const found = await blobs.get(name);
  await found?.body.cancel();
  return found?.size === bytes;
}

export function streamOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  let index = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = chunks[index++];
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * Streams bytes of a file, all of them by default. Each part is opened when the one before it has been read, and cancelling
 * closes the open one.
 *
 * @throws {AppError} `not_found`: the first part is missing. A later one that is missing fails the stream.
 */
export async function fileStream(
  blobs: Blobs,
  parts: readonly StoredPart[],
  range: FileRange = { start: 0, end: sizeOf(parts) },
): Promise<ReadableStream<Uint8Array>> {
  const opened = openParts(blobs, partsIn(parts, range));
  const first = await opened.next();
  let reader = first.done === true ? null : first.value;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (reader !== null) {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          const next = await opened.next();
          reader = next.done === true ? null : next.value;
        }
        controller.close();
      },
      async cancel(reason) {
        await reader?.cancel(reason);
        reader = null;
      },
    },
    { highWaterMark: 0 },
  );
}

/** Hashes a file by SHA-256 into 64 hexadecimal digits. @throws {RangeError} The file is shorter or longer than its parts. */
export async function digestOf(
  parts: readonly StoredPart[],
  options: {
    readonly blobs: Blobs;
    readonly sha256?: (() => Hash) | undefined;
    readonly between: () => Promise<void>;
  },
): Promise<string> {
  const hash = options.sha256?.() ?? sha256.create();
  const reader = (await fileStream(options.blobs, parts)).getReader();
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.byteLength;
      for (let from = 0; from < value.byteLength; from += hashSliceBytes) {
        hash.update(value.subarray(from, from + hashSliceBytes));
        await options.between();
      }
    }
  } finally {
    await reader.cancel();
  }
  if (size !== sizeOf(parts)) {
    throw new RangeError(`Cannot use the file: it has ${size} bytes in place of ${sizeOf(parts)}`);
  }
  return bytesToHex(Uint8Array.from(hash.digest()));
}

type PartSlice = FileRange & Pick<StoredPart, "name">;

function partsIn(parts: readonly StoredPart[], { start, end }: FileRange): readonly PartSlice[] {
  let offset = 0;
  return parts.flatMap(({ name, bytes }) => {
    const slice = { name, start: Math.max(0, start - offset), end: Math.min(bytes, end - offset) };
    offset += bytes;
    return slice.start < slice.end ? [slice] : [];
  });
}

async function* openParts(
  blobs: Blobs,
  slices: readonly PartSlice[],
): AsyncGenerator<ReadableStreamDefaultReader<Uint8Array>, void> {
  for (const { name, start, end } of slices) {
    const found = await blobs.get(name, { start, end });
    if (found === null) throw new AppError("not_found", "Cannot read the file as a part of it is gone");
    yield found.body.getReader();
  }
}
