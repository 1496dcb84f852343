/**
 * API keys as they are stored and written.
 *
 * `X-API-Key` is `gsk_` and 26 characters; it names the key and is no secret. `X-API-Secret` is `gss_`, 52 characters of
 * `a-z2-7` (256 random bits) and a checksum of 6. The prefixes let secret scanners find them, and the checksum tells a
 * mistyped secret from a wrong one.
 */

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { platformPartition } from "../../storage/names.ts";
import { base32, constantTimeEqual, netstrings, type RandomBytes, utf8 } from "../crypto/mod.ts";

/** The permissions of API keys, in the order in which documents list them. */
export const permissions = [
  "actions:write",
  "users:read",
  "users:write",
  "rewards:write",
  "users:export",
  "tokens:write",
  "config:read",
  "config:write",
  "keys:write",
] as const;

/** A permission of an API key. */
export type Permission = (typeof permissions)[number];

/** A secret of a key, of which only the peppered hash is stored. */
export interface StoredSecret {
  /** 64 hexadecimal digits. */
  readonly hash: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms from which the secret is refused; null while it is the newest. */
  readonly expireAt: number | null;
}

/** A stored API key. Its organisation never changes. */
export interface ApiKeyRecord {
  readonly format: 1;
  readonly keyId: string;
  readonly organisationId: string;
  readonly permissions: readonly Permission[];
  readonly name: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** The newest secret, then the one before it while both work. */
  readonly secrets: readonly [StoredSecret] | readonly [StoredSecret, StoredSecret];
}

export const apiKeyRecord = "api_key";
/** The record of a key's last use, Unix ms, in its partition. */
export const apiKeyUse = "api_key_use";

export function apiKeyPartition(keyId: string): string {
  return platformPartition("api_key", keyId);
}

export type SecretHash = (keyId: string, secret: string) => string;

/** Creates HMAC-SHA-256 under a pepper that is not in the store: 64 hexadecimal digits, different for each key. */
export function pepperedHash(pepper: Uint8Array): SecretHash {
  return (keyId, secret) =>
    bytesToHex(hmac(sha256, pepper, netstrings(["grandstand.api_secret.v1", keyId, secret])));
}

const noSecret: StoredSecret = { hash: "-".repeat(64), createdAt: 0, expireAt: 0 };

/**
 * Tests if the hash is that of a live secret at `now` (Unix ms). Two hashes are compared whatever the record holds, also
 * for a key that does not exist, so that the duration reveals nothing.
 */
export function hasLiveSecret(record: ApiKeyRecord | null, hashes: readonly string[], now: number): boolean {
  const [newest = noSecret, previous = noSecret] = record?.secrets ?? [];
  const isNewest = hashes.map(hash => constantTimeEqual(hash, newest.hash)).includes(true);
  const isPrevious = hashes.map(hash => constantTimeEqual(hash, previous.hash)).includes(true);
  return (isNewest && isLiveSecret(newest, now)) || (isPrevious && isLiveSecret(previous, now));
}

/** Tests if a secret still works at `now` (Unix ms). */
export function isLiveSecret(secret: StoredSecret, now: number): boolean {
  return secret.expireAt === null || now < secret.expireAt;
}

/**
 * Tests if a token of the organisation that was issued for the key at `issuedAt` (Unix seconds) still counts at `now` (Unix ms).
 * One from before the last rotation ends with the secret that it was issued for.
 */
export function isLiveFor(
  { organisationId, secrets: [newest, previous] }: ApiKeyRecord,
  token: { readonly organisationId: string; readonly issuedAt?: number },
  now: number,
): boolean {
  if (organisationId !== token.organisationId) return false;
  const isOlder =
    previous !== undefined && (token.issuedAt ?? Number.POSITIVE_INFINITY) * 1_000 < newest.createdAt;
  return !isOlder || isLiveSecret(previous, now);
}

const keyPrefix = "gsk_";
const secretPrefix = "gss_";
const keyShape = /^gsk_[a-z2-7]{26}$/;
const secretShape = /^gss_[a-z2-7]{58}$/;
const checksumChars = 6;

export function newApiKeyId(random: RandomBytes): string {
  return keyPrefix + base32(random(16));
}

export function newApiSecret(random: RandomBytes): string {
  const body = secretPrefix + base32(random(32));
  return body + checksum(body);
}

export function isApiKeyId(text: string): boolean {
  return keyShape.test(text);
}

export function isApiSecret(text: string): boolean {
  return secretShape.test(text) && checksum(text.slice(0, -checksumChars)) === text.slice(-checksumChars);
}

function checksum(body: string): string {
  return base32(sha256(utf8(body)).subarray(0, 5)).slice(0, checksumChars);
}
