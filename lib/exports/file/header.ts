/**
 * The layout of an encrypted export: `salt:iv:authTag:encryptedData`, each part in standard Base64 with padding. The first
 * three have a fixed width, so that they can be written when the data, whose end decides the tag, is already in place.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import { base64, fromBase64 } from "./base64.ts";

/** Bytes of the salt of the password. */
export const saltBytes = 16;
/** Bytes of the initialization vector. */
export const ivBytes = 12;
/** Bytes of the authentication tag; shorter ones, which GCM allows, are refused. */
export const tagBytes = 16;
/** Bytes of what stands before the data: 24 + 16 + 24 digits and a colon behind each. */
export const headerBytes = 67;

/** The first three parts. */
export interface ExportHeader {
  readonly salt: Uint8Array;
  readonly iv: Uint8Array;
  readonly tag: Uint8Array;
}

/**
 * What stands before the data, {@linkcode headerBytes} ASCII bytes.
 *
 * @throws {RangeError} A part has not its length.
 */
export function fileHeader({ salt, iv, tag }: ExportHeader): Uint8Array<ArrayBuffer> {
  const right = salt.length === saltBytes && iv.length === ivBytes && tag.length === tagBytes;
  if (!right)
    throw new RangeError("Cannot make the header of an export: salt, iv and tag are 16, 12 and 16 bytes");
  return new TextEncoder().encode(`${base64(salt)}:${base64(iv)}:${base64(tag)}:`);
}

/**
 * The first three parts of a file that begins with these bytes.
 *
 * @throws {AppError} `validation_failed`: the layout is another one, or a part has another length or is no canonical Base64.
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
