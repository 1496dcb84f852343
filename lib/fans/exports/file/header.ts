/**
 * The layout of an encrypted export: `salt:iv:authTag:encryptedData`, each part in standard Base64 with padding. The first
 * three have a fixed width, so that they can be written last, when the data has decided the tag.
 */

import { AppError } from "../../../base/errors/mod.ts";
import { base64, fromBase64 } from "./base64.ts";

export const saltBytes = 16;
export const ivBytes = 12;
/** Bytes of the authentication tag; shorter ones, which GCM allows, are refused. */
const tagBytes = 16;
/** Bytes of the header: 24 + 16 + 24 digits, each followed by a colon. */
export const headerBytes = 67;

export interface ExportHeader {
  readonly salt: Uint8Array;
  readonly iv: Uint8Array;
  readonly tag: Uint8Array;
}

/** Encodes the header, {@linkcode headerBytes} ASCII bytes. @throws {RangeError} A part has the wrong length. */
export function fileHeader({ salt, iv, tag }: ExportHeader): Uint8Array<ArrayBuffer> {
  if (salt.length !== saltBytes || iv.length !== ivBytes || tag.length !== tagBytes) {
    throw new RangeError("Cannot encode the header of an export: salt, iv and tag are 16, 12 and 16 bytes");
  }
  return new TextEncoder().encode(`${base64(salt)}:${base64(iv)}:${base64(tag)}:`);
}

/**
 * Decodes the header at the beginning of a file.
 *
 * @throws {AppError} `validation_failed`: the layout is another one, or a part has the wrong length or is not canonical Base64.
 */
export function parseHeader(start: Uint8Array): ExportHeader {
  const text = String.fromCharCode(...start.subarray(0, headerBytes));
  const [, salt, iv, tag] = (/^([^:]{24}):([^:]{16}):([^:]{24}):$/.exec(text) ?? []).map(fromBase64);
  if (salt?.length !== saltBytes || iv?.length !== ivBytes || tag?.length !== tagBytes) {
    throw new AppError(
      "validation_failed",
      "Cannot read the export: it does not begin with a salt, an iv and an authTag of 16, 12 and 16 bytes in Base64, each followed by a colon",
    );
  }
  return { salt, iv, tag };
}
