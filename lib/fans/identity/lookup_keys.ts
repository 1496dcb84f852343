/** The keys that find the users of projects. The partition of a key holds the claim of its user, and no two users have one key. */

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { deriveKey } from "../../auth/crypto/mod.ts";
import type { MasterSecret } from "../../auth/mod.ts";
import { canonicalEmail } from "../../base/text/mod.ts";
import { type Partition, tenantPartition, type Write } from "../../storage/mod.ts";
import type { ExternalIds, UserIds } from "./external_ids.ts";

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

/** Returns the partitions that may have the claim of an external id: that of the master secret, then those of others. */
export function externalIdPartitions(
  projectId: string,
  externalId: string,
  externalIds: ExternalIds,
): readonly [Partition, ...Partition[]] {
  const [newest, ...older] = externalIds.digests(projectId, externalId);
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
