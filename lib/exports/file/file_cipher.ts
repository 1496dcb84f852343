/**
 * The encryption of a file, begun anew or where another process left it.
 *
 * The state of GCM cannot be stored, but it follows from the plaintext. So what is stored is decrypted by its position in the key
 * stream and encrypted once more, which gives the same bytes again and the state behind them. Neither the users nor any
 * plaintext are read for that, and the file stays the same one.
 *
 * @module
 */

import type { Blobs } from "../../storage/mod.ts";
import type { ExportJob } from "../jobs/job.ts";
import { fileStream } from "./file_stream.ts";
import type { ExportKernels, GcmEncryption } from "./kernels.ts";
import { createExportCipher, type ExportSecret, exportKey, partDecipher } from "./mod.ts";
import { partName } from "./parts.ts";

/** What continuing needs. */
export interface CipherOptions {
  readonly blobs: Blobs;
  readonly kernels?: ExportKernels | undefined;
  /** Called after every piece. */
  readonly between: () => Promise<void>;
}

/** The encryption of the job's file in the state behind its last part. */
export async function continuedCipher(
  job: ExportJob,
  { password, salt, iv }: ExportSecret,
  { blobs, kernels, between }: CipherOptions,
): Promise<GcmEncryption> {
  const key = await exportKey(password, salt);
  const cipher = createExportCipher({ key, iv, ...(kernels === undefined ? {} : { kernels }) });
  const { parts, rest } = job.progress;
  if (parts.length === 0) return cipher;
  const decipher = partDecipher({ key, iv });
  const pieces = parts.map((ref, index) => ({ name: partName(job, ref, index), bytes: ref[1] }));
  const end = pieces.reduce((sum, { bytes }) => sum + bytes, 0);
  for await (const piece of decoded(await fileStream(blobs, pieces, { start: 0, end }))) {
    await cipher.update(await decipher.update(piece));
    await between();
  }
  await cipher.update(await decipher.update(fromBase64(rest)));
  return cipher;
}

/** The bytes of Base64 that arrives in chunks of any length. */
async function* decoded(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let left = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const text = left + decoder.decode(value);
      const whole = text.length - (text.length % 4);
      left = text.slice(whole);
      if (whole > 0) yield fromBase64(text.slice(0, whole));
    }
  } finally {
    await reader.cancel();
  }
}

/** The bytes of standard Base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
