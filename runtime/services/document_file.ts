/** Files of documents that people write. */

import { readFile } from "node:fs/promises";
import { type LocatedDocument, parseDocumentText } from "../../lib/base/text/document.ts";

const fileBytesMax = 2_097_152;

/**
 * Reads a file.
 *
 * @throws {Error} The file cannot be read, is too large, or is neither JSON nor YAML; the message names every fault.
 */
export async function readDocumentFile(path: string): Promise<LocatedDocument> {
  const bytes = await readFile(path);
  if (bytes.byteLength > fileBytesMax) {
    throw new Error(`Cannot read ${path}: it must not exceed ${fileBytesMax} bytes`);
  }
  return parseDocumentText(new TextDecoder("utf-8", { fatal: true }).decode(bytes), path);
}
