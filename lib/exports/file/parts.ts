/**
 * The parts of which a stored file consists.
 *
 * @module
 */

import type { Blobs } from "../../storage/mod.ts";
import type { ExportJob, PartRef } from "../jobs/job.ts";
import type { ExportAddress } from "../jobs/partitions.ts";

/** The name of a part. It holds the fencing token of its writer, so that a process that was away overwrites nothing. */
export function partName(
  { organisationId, exportId }: ExportAddress,
  [fence]: PartRef,
  index: number,
): string {
  return `exports/${organisationId}/${exportId}/${fence}-${index}`;
}

/** The name of the part before the others. */
export function headName({ organisationId, exportId }: ExportAddress, [fence]: PartRef): string {
  return `exports/${organisationId}/${exportId}/${fence}-head`;
}

/** A stored piece of a file. */
export interface FilePiece {
  readonly name: string;
  readonly bytes: number;
}

/** All pieces of the file of a job, in order. */
export function piecesOf(job: ExportJob): readonly FilePiece[] {
  const { head, progress } = job;
  const first = head === null ? [] : [{ name: headName(job, head), bytes: head[1] }];
  return [
    ...first,
    ...progress.parts.map((ref, index) => ({ name: partName(job, ref, index), bytes: ref[1] })),
  ];
}

/** A stream of chunks that are there already. */
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

/** Whether a part of this size is stored. */
export async function isStored(blobs: Blobs, { name, bytes }: FilePiece): Promise<boolean> {
  const found = await blobs.get(name);
  await found?.body.cancel();
  return found?.size === bytes;
}
