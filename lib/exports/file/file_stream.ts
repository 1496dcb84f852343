/**
 * A stored file as one stream, although it is kept in parts.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { Blobs } from "../../storage/mod.ts";
import type { FilePiece } from "./parts.ts";

/** Bytes of a file, the end exclusive. */
export interface FileRange {
  readonly start: number;
  readonly end: number;
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/**
 * Streams bytes of the file. A part is opened when the one before has been read, and only what somebody asks for is read.
 * Whoever cancels the stream closes what is open.
 *
 * @throws {AppError} `not_found`: the first part is not there. A later one that is missing fails the stream.
 */
export async function fileStream(
  blobs: Blobs,
  pieces: readonly FilePiece[],
  range: FileRange,
): Promise<ReadableStream<Uint8Array>> {
  const opened = openPieces(blobs, piecesIn(pieces, range));
  const first = await opened.next();
  let reader: Reader | null = first.done === true ? null : first.value;
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

interface Slice {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** What of which piece belongs to the range. */
function piecesIn(pieces: readonly FilePiece[], { start, end }: FileRange): readonly Slice[] {
  let offset = 0;
  return pieces.flatMap(({ name, bytes }) => {
    const slice = { name, start: Math.max(0, start - offset), end: Math.min(bytes, end - offset) };
    offset += bytes;
    return slice.start < slice.end ? [slice] : [];
  });
}

async function* openPieces(blobs: Blobs, slices: readonly Slice[]): AsyncGenerator<Reader, void> {
  for (const { name, start, end } of slices) {
    const found = await blobs.get(name, { start, end });
    if (found === null) throw new AppError("not_found", "Cannot read the file as a part of it is gone");
    yield found.body.getReader();
  }
}
