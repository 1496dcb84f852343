/**
 * The keys that find the users of projects. The partition of a key holds the claim of its user, and no two users have one key.
 *
 * @module
 */

import { gcmsiv } from "@noble/ciphers/aes.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { base64url, deriveKey, fromBase64url, fromUtf8, keyedTag, utf8 } from "../../auth/crypto/mod.ts";
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

export function keyPartition(projectId: string, key: LookupKey, externalIds: ExternalIds): Partition {
  const tenant = { project: projectId };
  switch (key.kind) {
    case "external":
      return tenantPartition(tenant, "external", externalIds.digest(projectId, key.externalId));
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
  readonly #digestKey: Uint8Array;
  readonly #sealingKey: Uint8Array;
  readonly #opened = new Cache<string>({ entriesMax: openedMax });

  constructor(secret: MasterSecret) {
    this.#digestKey = deriveKey(secret, "external_id_digest");
    this.#sealingKey = deriveKey(secret, "external_id_seal");
  }

  digest(projectId: string, externalId: string): string {
    return keyedTag(this.#digestKey, [projectId, externalId]);
  }

  /** Seals the external id of a user: always the same text, which opens for this user alone. */
  seal(userId: string, externalId: string): UserIds {
    const sealedId = base64url(this.#cipher(userId).encrypt(utf8(externalId)));
    this.#opened.set(userId + sealedId, externalId);
    return { userId, sealedId };
  }

  /** @throws {Error} It was sealed under another master secret or for another user. */
  open({ userId, sealedId }: UserIds): string {
    const name = userId + sealedId;
    const cached = this.#opened.get(name);
    if (cached !== undefined) return cached;
    const externalId = fromUtf8(this.#cipher(userId).decrypt(fromBase64url(sealedId) ?? new Uint8Array()));
    this.#opened.set(name, externalId);
    return externalId;
  }

  /** AES-GCM-SIV (RFC 8452), which stays safe although a user's nonce is always the same. */
  #cipher(userId: string): ReturnType<typeof gcmsiv> {
    const user = utf8(userId);
    return gcmsiv(this.#sealingKey, sha256(user).subarray(0, nonceBytes), user);
  }
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
