/**
 * The master secret of a deployment and the keys derived from it.
 *
 * HKDF-SHA-256 (RFC 5869). Every use of a key has a purpose and a context of its own, so that no two uses share one,
 * and a leaked derived key reveals nothing of the others.
 *
 * @module
 */

import { expand, extract } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { RandomBytes } from "../environment.ts";
import { base64url, netstrings, utf8 } from "./encoding.ts";

/** In UTF-8 bytes. */
const masterSecretBytesMin = 32;
/** Hexadecimal digits hold half a byte each. */
const masterSecretHexDigitsMin = 64;
const masterSecretVarietyMin = 10;
const derivedKeyBytes = 32;

const extractionSalt = utf8("grandstand.master.v1");
const howToMake = "make one with `openssl rand -base64 48`";

/** The secret that the processes of one deployment share. It cannot be read back, printed or serialised. */
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

  /** Expands the secret for one `info` (HKDF-Expand). Use {@linkcode deriveKey}, which cannot confuse two infos. */
  expand(info: Uint8Array): Uint8Array {
    return expand(sha256, this.#pseudoRandomKey, info, derivedKeyBytes);
  }
}

/** Generates a master secret as text, with 384 bits of randomness. */
export function generateMasterSecret(random: RandomBytes): string {
  return base64url(random(48));
}

/**
 * Derives the 32-byte key for one purpose and context: the same in every process, and another one for any other split
 * of the same text over the arguments.
 */
export function deriveKey(secret: MasterSecret, purpose: string, ...context: readonly string[]): Uint8Array {
  return secret.expand(netstrings(["grandstand.key.v1", purpose, ...context]));
}
