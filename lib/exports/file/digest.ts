/** The digest of a stored file, which is also the proof that all of it can be read. */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Blobs } from "../../storage/mod.ts";
import { fileStream } from "./file_stream.ts";
import type { Hashing } from "./kernels.ts";
import type { FilePiece } from "./parts.ts";

/** Bytes hashed at once where no native function does it; about 2 ms. */
export const hashSliceBytes = 262_144;

/** What a digest needs. */
export interface DigestOptions {
  readonly blobs: Blobs;
  /** @default a portable one */
  readonly sha256?: (() => Hashing) | undefined;
  /** Called after every slice. */
  readonly between: () => Promise<void>;
}

/** SHA-256 of a file, 64 hexadecimal digits. @throws {RangeError} The file has another size than its parts. */
export async function digestOf(pieces: readonly FilePiece[], options: DigestOptions): Promise<string> {
  const hash = (options.sha256 ?? (() => sha256.create()))();
  const end = pieces.reduce((sum, { bytes }) => sum + bytes, 0);
  const reader = (await fileStream(options.blobs, pieces, { start: 0, end })).getReader();
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
  if (size !== end) throw new RangeError(`The file has ${size} bytes in place of ${end}`);
  return bytesToHex(Uint8Array.from(hash.digest()));
}
