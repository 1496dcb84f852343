/**
 * The keys that find the users of projects. The partition of a key holds the claim of its user, and no two users have one key.
 *
 * @module
 */

import { gcmsiv } from "@noble/ciphers/aes.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import {
  base64url,
  deriveKey,
  deriveKeys,
  fromBase64url,
  fromUtf8,
  type Keys,
  keyedTag,
  utf8,
} from "../../auth/crypto/mod.ts";
import type { MasterSecret } from "../../auth/mod.ts";
import { canonicalEmail } from "../../base/text/mod.ts";
import { Cache } from "../../storage/background/mod.ts";
import { type Partition, tenantPartition, type Write } from "../../storage/mod.ts";

export interface Origin {
  readonly issuer: string;
  readonly subject: string;
}

/** A key that users claim: a registered device, a normalised e-mail address, or an identity at another provider. */
export type ClaimedKey =
  | { readonly kind: "device"; readonly deviceId: string; readonly additionalId: string }
  | { readonly kind: "email"; readonly email: string }
  | ({ readonly kind: "origin" } & Origin);

/** A key that finds one user of a project, and that at most one user has. */
export type LookupKey = ClaimedKey | { readonly kind: "external"; readonly externalId: string };

/** The record of a claimed key. That of an external id has the id of its user alone. */
export interface KeyClaim extends UserIds {
  /** Unix ms at which the claim expires. */
  readonly until?: number;
}

export const claimRead = { type: "record", key: "user" } as const;

/** Returns the partitions that may have the claim of a key: that of the master secret, then those of others. */
export function keyPartitions(
  projectId: string,
  key: LookupKey,
  externalIds: ExternalIds,
): readonly [Partition, ...Partition[]] {
  if (key.kind !== "external") return [claimPartition(projectId, key)];
  const [newest, ...older] = externalIds.digests(projectId, key.externalId);
  const partitionOf = (digest: string) => tenantPartition({ project: projectId }, "external", digest);
  return [partitionOf(newest), ...older.map(partitionOf)];
}

export function claimPartition(projectId: string, key: ClaimedKey): Partition {
  const tenant = { project: projectId };
  switch (key.kind) {
    case "device":
      return tenantPartition(tenant, "device", key.deviceId, key.additionalId);
    case "email":
      return tenantPartition(tenant, "email", key.email);
    case "origin":
      return tenantPartition(tenant, "origin", originTag(key));
  }
}

/** Digests both parts, which may be longer than the name of a partition. */
function originTag({ issuer, subject }: Origin): string {
  return bytesToHex(sha256(utf8ToBytes(JSON.stringify([issuer, subject]))));
}

export function claimWrite(ids: UserIds, until: number | undefined): Write {
  const value: KeyClaim = until === undefined ? ids : { ...ids, until };
  const write = { type: "put", key: "user", value: JSON.stringify(value) } as const;
  return until === undefined ? write : { ...write, expireAt: until };
}

const nonceBytes = 12;
/** Opening costs some 20 microseconds, and users come back soon after a registration or login. */
const openedMax = 10_000;

export interface UserIds {
  readonly userId: string;
  readonly sealedId: string;
}

/** Digests, seals and opens external ids under keys of the master secret. */
export class ExternalIds {
  readonly #digestKeys: Keys;
  readonly #sealingKeys: Keys;
  readonly #opened = new Cache<string>({ entriesMax: openedMax });

  constructor(secret: MasterSecret) {
    this.#digestKeys = deriveKeys(secret, "external_id_digest");
    this.#sealingKeys = deriveKeys(secret, "external_id_seal");
  }

  /** Returns the digest of an external id, and those under other secrets. */
  digests(projectId: string, externalId: string): readonly [newest: string, ...older: string[]] {
    const [newest, ...older] = this.#digestKeys;
    const digestOf = (key: Uint8Array) => keyedTag(key, [projectId, externalId]);
    return [digestOf(newest), ...older.map(digestOf)];
  }

  /** Seals the external id of a user: always the same text, which opens for this user alone. */
  seal(userId: string, externalId: string): UserIds {
    const sealedId = base64url(cipherOf(this.#sealingKeys[0], userId).encrypt(utf8(externalId)));
    this.#opened.set(userId + sealedId, externalId);
    return { userId, sealedId };
  }

  /** @throws {Error} It was sealed under another master secret or for another user. */
  open({ userId, sealedId }: UserIds): string {
    const name = userId + sealedId;
    const cached = this.#opened.get(name);
    if (cached !== undefined) return cached;
    const externalId = this.#decrypt(userId, fromBase64url(sealedId) ?? new Uint8Array());
    this.#opened.set(name, externalId);
    return externalId;
  }

  #decrypt(userId: string, sealed: Uint8Array): string {
    const [newest, ...older] = this.#sealingKeys;
    for (const key of older) {
      try {
        return fromUtf8(cipherOf(key, userId).decrypt(sealed));
      } catch {
        // Another secret sealed it.
      }
    }
    return fromUtf8(cipherOf(newest, userId).decrypt(sealed));
  }
}

/** AES-GCM-SIV (RFC 8452), which stays safe although a user's nonce is always the same. */
function cipherOf(key: Uint8Array, userId: string): ReturnType<typeof gcmsiv> {
  const user = utf8(userId);
  return gcmsiv(key, sha256(user).subarray(0, nonceBytes), user);
}

/**
 * Normalises an address for look-ups: ASCII letters in lower case, then its canonical form.
 *
 * Unicode's case folding makes one of texts that mail servers distinguish (`K`, the Kelvin sign, becomes `k`), and then
 * a code for one person's account would reach another person's mailbox.
 */
export function normaliseEmail(email: string): string {
  return canonicalEmail(email.replace(/[A-Z]+/g, letters => letters.toLowerCase()));
}

/** Derives the 32-byte key under which a project's addresses are hashed. */
export function emailHashKey(secret: MasterSecret, projectId: string): Uint8Array {
  return deriveKey(secret, "email", projectId);
}

/** Hashes an address with HMAC-SHA-256, 64 hexadecimal digits. All spellings of one address have one tag. */
export function emailTag(key: Uint8Array, email: string): string {
  return bytesToHex(hmac(sha256, key, new TextEncoder().encode(normaliseEmail(email))));
}

export function emailKey(email: string): ClaimedKey {
  return { kind: "email", email: normaliseEmail(email) };
}
