/**
 * The master secret of a deployment and the keys derived from it.
 *
 * HKDF-SHA-256 (RFC 5869). Every use of a key has a purpose and a context of its own, so that no two uses share one,
 * and a leaked derived key tells nothing of the others.
 *
 * @module
 */

import { expand, extract } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base64url, netstrings, utf8 } from "./encoding.ts";
import type { RandomBytes } from "../environment.ts";

/** Shortest master secret, in UTF-8 bytes of its text. */
export const masterSecretBytesMin = 32;
/** Fewest digits of a master secret that is hexadecimal: they hold half a byte each. */
export const masterSecretHexDigitsMin = 64;
/** Fewest different characters of a master secret. */
export const masterSecretVarietyMin = 10;
/** Length of a derived key, in bytes. */
export const derivedKeyBytes = 32;

const extractionSalt = utf8("grandstand.master.v1");
const howToMake = "make one with `openssl rand -base64 48`";

/** What only the processes of one deployment know. It cannot be read back, printed or serialised. */
export class MasterSecret {
  readonly #pseudoRandomKey: Uint8Array;

  /**
   * @param text Any text of at least 32 bytes: base64, hexadecimal (at least 64 digits) or a long passphrase.
   * @throws {RangeError} The text is too short or too uniform; the message says how to make a good one.
   */
  constructor(text: string) {
    const bytes = utf8(text);
    if (bytes.length < masterSecretBytesMin) {
      throw new RangeError(
        `The master secret has ${bytes.length} bytes, at least ${masterSecretBytesMin} are needed: ${howToMake}`,
      );
    }
    if (/^[0-9a-f]*$/i.test(text) && text.length < masterSecretHexDigitsMin) {
      throw new RangeError(
        `The master secret has ${text.length} hexadecimal digits, at least ${masterSecretHexDigitsMin} are needed: ${howToMake}`,
      );
    }
    if (new Set(text).size < masterSecretVarietyMin) {
      throw new RangeError(
        `The master secret has fewer than ${masterSecretVarietyMin} different characters: ${howToMake}`,
      );
    }
    this.#pseudoRandomKey = extract(sha256, bytes, extractionSalt);
  }

  /** HKDF-Expand of the secret for one `info`. Use {@linkcode deriveKey}, which cannot confuse two infos. */
  expand(info: Uint8Array): Uint8Array {
    return expand(sha256, this.#pseudoRandomKey, info, derivedKeyBytes);
  }
}

/** A new master secret as text, with 384 bits of randomness. */
export function generateMasterSecret(random: RandomBytes): string {
  return base64url(random(48));
}

/**
 * The 32-byte key for one purpose and context. The same arguments give the same key in every process; a different
 * split of the same text over the arguments gives another key.
 */
export function deriveKey(secret: MasterSecret, purpose: string, ...context: readonly string[]): Uint8Array {
  return secret.expand(netstrings(["grandstand.key.v1", purpose, ...context]));
}
