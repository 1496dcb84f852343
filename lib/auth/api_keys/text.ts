/**
 * The two texts of an API key.
 *
 * `X-API-Key` is `gsk_` and 26 characters: it names the key and is no secret. `X-API-Secret` is `gss_`, 52 characters of
 * `a-z2-7` (256 random bits) and a checksum of 6. The prefixes let secret scanners find them, and the checksum lets
 * anybody tell a mistyped secret from a wrong one without asking.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { base32, utf8 } from "../crypto/encoding.ts";
import type { RandomBytes } from "../environment.ts";

const keyPrefix = "gsk_";
const secretPrefix = "gss_";
const keyShape = /^gsk_[a-z2-7]{26}$/;
const secretShape = /^gss_[a-z2-7]{58}$/;
const checksumChars = 6;

/** A new key name. */
export function newApiKeyName(random: RandomBytes): string {
  return keyPrefix + base32(random(16));
}

/** A new secret. */
export function newApiSecret(random: RandomBytes): string {
  const body = secretPrefix + base32(random(32));
  return body + checksum(body);
}

/** Whether a text has the shape of a key name. */
export function isApiKeyName(text: string): boolean {
  return keyShape.test(text);
}

/** Whether a text has the shape of a secret and its checksum is right. */
export function isApiSecret(text: string): boolean {
  return secretShape.test(text) && checksum(text.slice(0, -checksumChars)) === text.slice(-checksumChars);
}

function checksum(body: string): string {
  return base32(sha256(utf8(body)).subarray(0, 5)).slice(0, checksumChars);
}
