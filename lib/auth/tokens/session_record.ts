/**
 * The signed session record, with which any back end of a project can verify the user of a client without a request.
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
import { deriveKey, type MasterSecret } from "../crypto/secret.ts";
import { constantTimeEqual } from "../environment.ts";

/** A record with its signature, which covers the other members. */
export interface SignedSessionRecord {
  readonly projectId: string;
  readonly externalId: string;
  readonly userId: string;
  readonly deviceId: string;
  /** Time of issue, Unix seconds. */
  readonly timeStamp: number;
  /** Time of sign-up, Unix seconds. */
  readonly signUp: number;
  readonly signature: string;
}

/** Derives the 32-byte key of a project's records. A back end that has it can verify records, and sign them too. */
export function recordKey(secret: MasterSecret, projectId: string): Uint8Array {
  return deriveKey(secret, "session_record", projectId);
}

/**
 * Signs a record: 64 upper-case hexadecimal digits.
 *
 * @throws {TypeError} A text has a lone surrogate, or a time is not an integer.
 */
export function signRecord(key: Uint8Array, record: Omit<SignedSessionRecord, "signature">): string {
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

/** Verifies the signature of a record of unknown origin, in constant time. */
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
