/** What stands in an encrypted file, read from its beginning to its end in constant memory. */

import { AppError } from "../../errors/mod.ts";
import { Base64Decoder } from "./base64_decoder.ts";
import { type ExportHeader, headerBytes, parseHeader } from "./header.ts";

/** Bytes of Base64 that are decoded at once. */
export const pieceTextBytes = 1_048_576;

/** A file that can be read more than once: a `Blob` or `File`, or a function that opens it anew. */
export type ExportFileSource =
  | Blob
  | (() => ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>);

/**
 * Gives the header of a file, and then its ciphertext in pieces of one size but the last.
 *
 * @throws {AppError} `validation_failed`: the file has another layout.
 */
export async function openExport(source: ExportFileSource): Promise<OpenExport> {
  const stream = source instanceof Blob ? source.stream() : await source();
  const reader = new PieceReader(stream.getReader());
  try {
    const header = parseHeader(await reader.read(headerBytes));
    return { header, pieces: piecesOf(reader), close: () => reader.close() };
  } catch (error) {
    await reader.close();
    throw error;
  }
}

/** A file that is being read. */
export interface OpenExport {
  readonly header: ExportHeader;
  readonly pieces: AsyncGenerator<Uint8Array, void>;
  /** Lets go of the file. */
  close(): Promise<void>;
}

async function* piecesOf(reader: PieceReader): AsyncGenerator<Uint8Array, void> {
  const decoder = new Base64Decoder();
  for (;;) {
    const text = await reader.read(pieceTextBytes);
    if (text.length === 0) return;
    yield decoder.update(text);
  }
}

/** Reads a stream in pieces of a size that the reader decides. */
class PieceReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array(0);

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>) {
    this.#reader = reader;
  }

  /** The next `length` bytes, fewer at the end. */
  async read(length: number): Promise<Uint8Array> {
    const piece = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      if (this.#chunk.length === 0) {
        const { done, value } = await this.#next();
        if (done) return piece.subarray(0, filled);
        this.#chunk = value;
      }
      const taken = this.#chunk.subarray(0, length - filled);
      piece.set(taken, filled);
      filled += taken.length;
      this.#chunk = this.#chunk.subarray(taken.length);
    }
    return piece;
  }

  async close(): Promise<void> {
    // A source that has failed fails this as well, and has been reported.
    await this.#reader.cancel().catch(() => undefined);
  }

  async #next(): Promise<ReadableStreamReadResult<Uint8Array>> {
    try {
      return await this.#reader.read();
    } catch (error) {
      throw new AppError("internal_error", "Cannot read the export: its source failed", { cause: error });
    }
  }
}
