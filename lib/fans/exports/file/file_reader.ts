/** Reads an encrypted file from beginning to end in constant memory. */

import { AppError } from "../../../base/errors/mod.ts";
import { Base64Decoder } from "./base64.ts";
import { type ExportHeader, headerBytes, parseHeader } from "./header.ts";

/** Digits of Base64 decoded at once. */
const pieceTextBytes = 1_048_576;

/** A file that can be read more than once: a `Blob` or `File`, or a function that opens it anew. */
export type ExportFileSource =
  | Blob
  | (() => ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>);

/** Opens a file and reads its header. @throws {AppError} `validation_failed`: the file has another layout. */
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

export interface OpenExport {
  readonly header: ExportHeader;
  /** The ciphertext, in pieces of the same size except the last. */
  readonly pieces: AsyncGenerator<Uint8Array, void>;
  close(): Promise<void>;
}

/** Decodes a stream of Base64 in pieces of a bounded size. Closes it when iteration ends. */
export async function* decodedPieces(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = new PieceReader(stream.getReader());
  try {
    yield* piecesOf(reader);
  } finally {
    await reader.close();
  }
}

async function* piecesOf(reader: PieceReader): AsyncGenerator<Uint8Array, void> {
  const decoder = new Base64Decoder();
  for (;;) {
    const text = await reader.read(pieceTextBytes);
    if (text.length === 0) return;
    yield decoder.update(text);
  }
}

class PieceReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array(0);

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>) {
    this.#reader = reader;
  }

  /** Reads `length` bytes, fewer at the end. */
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
    // A failed source rejects here again; its error is already reported.
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
