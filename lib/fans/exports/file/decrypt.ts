/**
 * Decryption of whole files in constant memory. A file is read twice, so that no plaintext is released before the tag is
 * verified.
 */

import { AppError } from "../../../base/errors/mod.ts";
import { Base64Decoder } from "./base64.ts";
import { type ExportHeader, headerBytes, parseHeader } from "./header.ts";
import type { ExportKernels } from "./kernels.ts";
import { nobleGcm } from "./noble_gcm.ts";
import { exportKey } from "./secret.ts";

/** Options of {@linkcode decryptExport}. */
export interface DecryptOptions {
  readonly password: string;
  /** Native functions: `nativeExportKernels()` of `grandstand/native`. @default portable code, which is slower */
  readonly kernels?: ExportKernels | undefined;
}

/**
 * Decrypts an export after its tag is verified. A file that changes between the two readings fails the stream at its end;
 * bytes of a `Blob` cannot change.
 *
 * @throws {AppError} `validation_failed`: this is not an encrypted export. `invalid_credentials`: the password is wrong, or
 *   the file was changed. `internal_error`: the source failed.
 *
 * @example
 * ```ts
 * const plaintext = await decryptExport(file, { password });
 * console.log(await new Response(plaintext).text());
 * ```
 */
export async function decryptExport(
  source: ExportFileSource,
  { password, kernels = {} }: DecryptOptions,
): Promise<ReadableStream<Uint8Array>> {
  const file = await openExport(source);
  const { header } = file;
  const secret = { key: await exportKey(password, header.salt), iv: header.iv };
  const gcm = kernels.aes256Gcm ?? nobleGcm;
  const read = (from: OpenExport): AsyncGenerator<Uint8Array, void> =>
    plaintextOf(from, { decryption: gcm.decrypt(secret), tag: header.tag });
  for await (const _ of read(file));
  const again = await openExport(source);
  const pieces = read(again);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => again.close(),
    },
    { highWaterMark: 0 },
  );
}

/** Decrypts a file piece by piece, and fails after the last one if the tag does not match. */
async function* plaintextOf(
  file: OpenExport,
  {
    decryption,
    tag,
  }: { readonly decryption: ReturnType<typeof nobleGcm.decrypt>; readonly tag: ExportHeader["tag"] },
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const piece of file.pieces) yield await decryption.update(piece);
  } catch (error) {
    await file.close();
    throw error;
  }
  if (await decryption.verify(tag)) return;
  throw new AppError(
    "invalid_credentials",
    "Cannot decrypt the export: the password is wrong, or the file was changed",
  );
}

/** Digits of Base64 decoded at once. */
const pieceTextBytes = 1_048_576;

/** A file that can be read more than once: a `Blob` or `File`, or a function that opens it anew. */
export type ExportFileSource =
  | Blob
  | (() => ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>);

/** Opens a file and reads its header. @throws {AppError} `validation_failed`: the file has another layout. */
async function openExport(source: ExportFileSource): Promise<OpenExport> {
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

interface OpenExport {
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
