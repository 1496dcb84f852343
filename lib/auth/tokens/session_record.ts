/**
 * The signed session record: what the identity area hands to a client so that any backend of the project can tell,
 * without asking, which user a client speaks for.
 *
 * The signature is the upper-case hexadecimal HMAC-SHA-256, under the record key of the project, of these texts as
 * netstrings (`<UTF-8 length>:<text>,`): `grandstand.session_record.v1`, projectId, externalId, userId, deviceId,
 * timeStamp and signUp as decimal integers.
 *
 * @module
 */

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { netstrings } from "../crypto/encoding.ts";
import { constantTimeEqual } from "../crypto/ids.ts";
import { deriveKey, type MasterSecret } from "../crypto/secret.ts";

/** Length of a signature: 64 upper-case hexadecimal digits. */
export const signatureDigits = 64;

/** What a signature covers. */
export interface SessionRecord {
  readonly projectId: string;
  readonly externalId: string;
  readonly userId: string;
  readonly deviceId: string;
  /** When the record was made, in Unix seconds. */
  readonly timeStamp: number;
  /** When the user signed up, in Unix seconds. */
  readonly signUp: number;
}

/** A record as a client presents it. */
export interface SignedSessionRecord extends SessionRecord {
  readonly signature: string;
}

/** The 32-byte key of a project's records. A backend that is given it can verify records, and could sign them. */
export function recordKey(secret: MasterSecret, projectId: string): Uint8Array {
  return deriveKey(secret, "session_record", projectId);
}

/**
 * The signature of a record: 64 upper-case hexadecimal digits.
 *
 * @throws {TypeError} A text has a lone surrogate, or a time is not an integer.
 */
export function signRecord(key: Uint8Array, record: SessionRecord): string {
  const { projectId, externalId, userId, deviceId, timeStamp, signUp } = record;
  if (!Number.isSafeInteger(timeStamp) || !Number.isSafeInteger(signUp)) {
    throw new TypeError("Cannot sign a session record whose times are not integers");
  }
  const message = netstrings([
    "grandstand.session_record.v1",
    projectId,
    externalId,
    userId,
    deviceId,
    String(timeStamp),
    String(signUp),
  ]);
  return bytesToHex(hmac(sha256, key, message)).toUpperCase();
}

/** Whether the record carries its own signature. Takes records of unknown origin, and the same time for each of them. */
export function verifyRecord(key: Uint8Array, record: SignedSessionRecord): boolean {
  if (!isRecordShaped(record)) return false;
  return constantTimeEqual(signRecord(key, record), record.signature);
}

function isRecordShaped(record: SignedSessionRecord): boolean {
  const texts: readonly unknown[] = [record.projectId, record.externalId, record.userId, record.deviceId];
  return (
    typeof record.signature === "string" &&
    texts.every(text => typeof text === "string" && text.isWellFormed()) &&
    Number.isSafeInteger(record.timeStamp) &&
    Number.isSafeInteger(record.signUp)
  );
}
