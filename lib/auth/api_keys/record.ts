/** An API key as it is stored, and whether a secret is one of its live ones. */

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { netstrings } from "../crypto/encoding.ts";
import { constantTimeEqual } from "../crypto/ids.ts";
import type { Permission } from "./permissions.ts";

/** A secret of a key: never itself, only its peppered hash. */
export interface StoredSecret {
  /** 64 hexadecimal digits. */
  readonly hash: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms from which the secret is refused; null while it is the newest. */
  readonly expireAt: number | null;
}

/** An API key. Its organisation can never change. */
export interface ApiKeyRecord {
  readonly format: 1;
  readonly keyId: string;
  readonly organisationId: string;
  readonly permissions: readonly Permission[];
  readonly name: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** The newest secret, then the one before it while both live. */
  readonly secrets: readonly [StoredSecret] | readonly [StoredSecret, StoredSecret];
}

/** Hashes the secret of a key. */
export type SecretHash = (keyId: string, secret: string) => string;

/** HMAC-SHA-256 under a pepper that is not in the store: 64 hexadecimal digits, different for each key. */
export function pepperedHash(pepper: Uint8Array): SecretHash {
  return (keyId, secret) =>
    bytesToHex(hmac(sha256, pepper, netstrings(["grandstand.api_secret.v1", keyId, secret])));
}

const noSecret: StoredSecret = { hash: "-".repeat(64), createdAt: 0, expireAt: 0 };

/**
 * Whether the hash is that of a live secret at `now` (Unix ms). Both places are compared whatever the record holds, and
 * for a key that does not exist as well, so that the work tells nothing.
 */
export function hasLiveSecret(record: ApiKeyRecord | null, hash: string, now: number): boolean {
  const [newest = noSecret, previous = noSecret] = record?.secrets ?? [];
  const isNewest = constantTimeEqual(hash, newest.hash);
  const isPrevious = constantTimeEqual(hash, previous.hash);
  return (isNewest && isLive(newest, now)) || (isPrevious && isLive(previous, now));
}

/** Whether a secret still works at `now` (Unix ms). */
export function isLive(secret: StoredSecret, now: number): boolean {
  return secret.expireAt === null || now < secret.expireAt;
}
