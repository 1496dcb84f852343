/**
 * The keys that find the users of projects. The partition of a key holds the claim of its user, and no two users have one key.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { decide, type Partition, type Store, tenantPartition, type Write } from "../../storage/mod.ts";
import type { ExternalIds, UserIds } from "./external_ids.ts";

/** The identity of a user at another provider. */
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
interface KeyClaim extends UserIds {
  /** Unix ms at which the claim expires. */
  readonly until?: number;
}

const claimRead = { type: "record", key: "user" } as const;

/** The lookup keys of all projects. */
export class LookupKeys {
  readonly #store: Store;
  readonly #externalIds: ExternalIds;

  constructor(store: Store, externalIds: ExternalIds) {
    this.#store = store;
    this.#externalIds = externalIds;
  }

  /** Returns the id of the user who holds a key, or null. */
  async holderOf(projectId: string, key: LookupKey): Promise<string | null> {
    const [claim] = await this.#store.read(this.#partition(projectId, key), [claimRead]);
    return claim === null ? null : (JSON.parse(claim.value) as KeyClaim).userId;
  }

  /** Stores the key of a user's external id. */
  async putExternalId(projectId: string, ids: UserIds): Promise<void> {
    const key = { kind: "external", externalId: this.#externalIds.open(ids) } as const;
    await this.#store.commit(this.#partition(projectId, key), {
      writes: [{ type: "put", key: "user", value: JSON.stringify({ userId: ids.userId }) }],
    });
  }

  /**
   * Claims a key for `ids` and returns the ids of its holder, the same for all racers. With `until` (Unix ms) the claim
   * expires then, unless its holder claims the key again without a time.
   */
  async claim(
    projectId: string,
    key: ClaimedKey,
    { userId, sealedId }: UserIds,
    { until }: { readonly until?: number } = {},
  ): Promise<UserIds> {
    return await decide(this.#store, this.#partition(projectId, key), {
      reads: [claimRead],
      idempotent: true,
      apply: ([stored]) => {
        const holder = stored === null ? null : (JSON.parse(stored.value) as KeyClaim);
        const ids = { userId: holder?.userId ?? userId, sealedId: holder?.sealedId ?? sealedId };
        const isConfirmed = ids.userId === userId && holder?.until !== undefined && until === undefined;
        const isWritten = holder === null || isConfirmed;
        return { writes: isWritten ? [claimWrite(ids, until)] : [], answer: ids };
      },
    });
  }

  /** Releases a key if this user holds it. */
  async release(projectId: string, key: LookupKey, userId: string): Promise<void> {
    await decide(this.#store, this.#partition(projectId, key), {
      reads: [claimRead],
      idempotent: true,
      apply: ([stored]) => {
        const isHeld = stored !== null && (JSON.parse(stored.value) as KeyClaim).userId === userId;
        return {
          writes: isHeld ? [{ type: "delete", shape: "record", key: "user" }] : [],
          answer: undefined,
        };
      },
    });
  }

  #partition(projectId: string, key: LookupKey): Partition {
    const tenant = { project: projectId };
    switch (key.kind) {
      case "external":
        return tenantPartition(tenant, "external", this.#externalIds.digest(projectId, key.externalId));
      case "device":
        return tenantPartition(tenant, "device", key.deviceId, key.additionalId);
      case "email":
        return tenantPartition(tenant, "email", key.email);
      case "origin":
        return tenantPartition(tenant, "origin", originTag(key));
    }
  }
}

/** Digests both parts, which may be longer than the name of a partition. */
function originTag({ issuer, subject }: Origin): string {
  return bytesToHex(sha256(utf8ToBytes(JSON.stringify([issuer, subject]))));
}

function claimWrite(ids: UserIds, until: number | undefined): Write {
  const value: KeyClaim = until === undefined ? ids : { ...ids, until };
  const expiry = until === undefined ? {} : { expireAt: until };
  return { type: "put", key: "user", value: JSON.stringify(value), ...expiry };
}
