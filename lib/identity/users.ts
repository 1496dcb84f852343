/**
 * The stored users of projects, and the keys that find them.
 *
 * A user is one record in a partition of its own. A lookup key (an external id, a device, …) is a record elsewhere with
 * the ids of its user. It is written before the user, so that a crash leaves at most a key without a user.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Clock } from "../auth/mod.ts";
import { AppError } from "../errors/mod.ts";
import { decide, type Partition, type Store, tenantPartition, type Write } from "../storage/mod.ts";

/** Most logins of a user's history; the oldest is dropped first. */
const loginHistoryMax = 50;
/** Most devices of a user; the one unused for longest is dropped first. */
const devicesMax = 20;

/** A device of a user. Times in Unix seconds. */
export interface Device {
  readonly deviceId: string;
  readonly signUp: number;
  readonly lastLogin: number;
}

/** The e-mail account of a user of the managed pool. */
export interface Account {
  /** As the user wrote it. */
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly nickname: string;
  /** A PHC string. */
  readonly passwordHash: string;
  /** Consent to the first and the second set of terms, as the client wrote it. */
  readonly terms: readonly [string, string];
  /** Unix seconds. */
  readonly updatedAt: number;
}

/** A ban of a user, who cannot sign in meanwhile. */
export interface Ban {
  readonly reason: string;
  /** Unix seconds; null for a ban without an end. */
  readonly until: number | null;
}

/** A user of one project. Times in Unix seconds. */
export interface User {
  readonly userId: string;
  readonly externalId: string;
  readonly provider: Provider;
  readonly username: string;
  readonly signUp: number;
  readonly loginHistory: readonly number[];
  readonly devices: readonly Device[];
  readonly appProfile: Readonly<Record<string, unknown>>;
  /** The device of an anonymous user's registration, a lookup key that a removal releases. */
  readonly registration?: { readonly deviceId: string; readonly additionalId: string };
  /** Only of the managed pool. */
  readonly account?: Account;
  /** The identity at another provider that vouches for the user. */
  readonly origin?: Origin;
  /** The profile that a social provider gave last; `""` for missing members. */
  readonly social?: {
    readonly nickname: string;
    readonly email: string;
    readonly isEmailVerified: boolean;
    readonly updatedAt: number;
  };
  readonly ban?: Ban;
  /** The user that this one was merged into. */
  readonly mergedInto?: string;
  /** Set while the user is being removed; nobody logs in any more. */
  readonly isRetired?: true;
}

/** The providers of users. */
export const providerNames = [
  "managedPool",
  "hostedIdp",
  "anonymous",
  "noLogin",
  "socialOne",
  "socialTwo",
  "socialThree",
] as const;

/** A provider of users. */
export type Provider = (typeof providerNames)[number];

/** The identity of a user at another provider. */
export interface Origin {
  readonly issuer: string;
  readonly subject: string;
}

/** The ids of a user. */
export interface UserIds {
  readonly userId: string;
  readonly externalId: string;
}

/**
 * A key that finds one user of a project, and that at most one user has: an external id, a registered device, a
 * normalised e-mail address, or an identity at another provider.
 */
export type LookupKey =
  | { readonly kind: "external"; readonly externalId: string }
  | { readonly kind: "device"; readonly deviceId: string; readonly additionalId: string }
  | { readonly kind: "email"; readonly email: string }
  | ({ readonly kind: "origin" } & Origin);

/** Reads a user, or the claim of a lookup key, in its partition. */
export const userRead = { type: "record", key: "user" } as const;

/** The record of a lookup key. */
interface KeyClaim extends UserIds {
  /** Unix ms at which the claim expires. */
  readonly until?: number;
}

/** The users of all projects. */
export class Users {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Finds a user by id, or null. */
  async findById(projectId: string, userId: string): Promise<User | null> {
    const [stored] = await this.#store.read(userPartition(projectId, userId), [userRead]);
    return stored === null ? null : (JSON.parse(stored.value) as User);
  }

  /** Finds a user by a lookup key, or null. */
  async findByKey(projectId: string, key: LookupKey): Promise<User | null> {
    const userId = await this.holderOf(projectId, key);
    return userId === null ? null : await this.findById(projectId, userId);
  }

  /** Returns the id of the user who holds a lookup key, or null. A user who is just signing up may not be stored yet. */
  async holderOf(projectId: string, key: LookupKey): Promise<string | null> {
    const [claim] = await this.#store.read(keyPartition(projectId, key), [userRead]);
    return claim === null ? null : (JSON.parse(claim.value) as KeyClaim).userId;
  }

  /** Stores a new user and the key of its external id. An existing user stays as it is. */
  async create(projectId: string, user: User): Promise<User> {
    const { userId, externalId } = user;
    await this.#store.commit(keyPartition(projectId, { kind: "external", externalId }), {
      writes: [{ type: "put", key: "user", value: JSON.stringify({ userId, externalId }) }],
    });
    return await decide(this.#store, userPartition(projectId, userId), {
      reads: [userRead],
      idempotent: true,
      apply: ([stored]) =>
        stored === null
          ? { writes: userWrites(user), answer: user }
          : { writes: [], answer: JSON.parse(stored.value) as User },
    });
  }

  /** Changes a user atomically by a pure function; null if there is none. */
  async update(projectId: string, userId: string, change: (user: User) => User): Promise<User | null> {
    return await decide(this.#store, userPartition(projectId, userId), {
      reads: [userRead],
      apply: ([stored]) => {
        if (stored === null) return { writes: [], answer: null };
        const user = change(JSON.parse(stored.value) as User);
        return { writes: userWrites(user), answer: user };
      },
    });
  }

  /**
   * Claims a lookup key for `ids` and returns the ids of its holder, the same for all racers. With `until` (Unix ms) the
   * claim expires then, unless its holder claims the key again without a time.
   */
  async claim(
    projectId: string,
    key: LookupKey,
    { userId, externalId }: UserIds,
    { until }: { readonly until?: number } = {},
  ): Promise<UserIds> {
    return await decide(this.#store, keyPartition(projectId, key), {
      reads: [userRead],
      idempotent: true,
      apply: ([stored]) => {
        const holder = stored === null ? null : (JSON.parse(stored.value) as KeyClaim);
        const ids = { userId: holder?.userId ?? userId, externalId: holder?.externalId ?? externalId };
        const isConfirmed = ids.userId === userId && holder?.until !== undefined && until === undefined;
        const isWritten = holder === null || isConfirmed;
        return { writes: isWritten ? [claimWrite(ids, until)] : [], answer: ids };
      },
    });
  }

  /** Releases a lookup key if this user holds it. */
  async release(projectId: string, key: LookupKey, userId: string): Promise<void> {
    await decide(this.#store, keyPartition(projectId, key), {
      reads: [userRead],
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

  /**
   * Removes the records of a user, if there are any. Its lookup keys are released before, so that an interrupted removal
   * can be repeated.
   */
  async remove(projectId: string, userId: string): Promise<void> {
    await this.#store.commit(userPartition(projectId, userId), {
      writes: ["user", "name", userAuditKey].map(key => ({ type: "delete", shape: "record", key })),
    });
  }
}

/** Adds a login on a device, which the user has or gets now. */
export function withLogin(user: User, deviceId: string, now: number): User {
  const previous = user.devices.find(device => device.deviceId === deviceId);
  const device: Device = { deviceId, signUp: previous?.signUp ?? now, lastLogin: now };
  const others = user.devices.filter(other => other.deviceId !== deviceId);
  return {
    ...user,
    loginHistory: [...user.loginHistory, now].slice(-loginHistoryMax),
    devices: [...others, device].slice(-devicesMax),
  };
}

/** Tests if the user is still anonymous: not registered, not merged into an account and not being removed. */
export function isAnonymous(user: User): boolean {
  return user.provider === "anonymous" && !isWithdrawn(user);
}

/** Tests if the user was merged into an account or is being removed, so that nothing proves it any more. */
export function isWithdrawn({ mergedInto, isRetired }: User): boolean {
  return mergedInto !== undefined || isRetired !== undefined;
}

/** Tests if the user's provider has sessions. Its session records are worth no more than these. */
export function hasSessions({ provider }: User): boolean {
  return provider !== "anonymous" && provider !== "noLogin";
}

/** Reads the clock in whole Unix seconds. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock() / 1_000);
}

/** The record of a user's audit trail, in the user's partition. */
export const userAuditKey = "audit";

/** Names the partition of a user's records. The name has a record of its own, because boards read only that, often. */
export function userPartition(projectId: string, userId: string): Partition {
  return tenantPartition({ project: projectId }, "user", userId);
}

function keyPartition(projectId: string, key: LookupKey): Partition {
  const tenant = { project: projectId };
  switch (key.kind) {
    case "external":
      return tenantPartition(tenant, "external", key.externalId);
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

function claimWrite(ids: UserIds, until: number | undefined): Write {
  const value: KeyClaim = until === undefined ? ids : { ...ids, until };
  const expiry = until === undefined ? {} : { expireAt: until };
  return { type: "put", key: "user", value: JSON.stringify(value), ...expiry };
}

function userWrites(user: User): { type: "put"; key: string; value: string }[] {
  return [
    { type: "put", key: "user", value: JSON.stringify(user) },
    { type: "put", key: "name", value: user.username },
  ];
}

/** Tests if the user is banned at `now`, in Unix ms. */
export function isBanned({ ban }: User, now: number): boolean {
  return ban !== undefined && (ban.until === null || now < ban.until * 1_000);
}

/** Creates the error for a banned user who proved the credentials; its `until` is in Unix seconds. */
export function accountBanned({ ban }: User): AppError {
  return new AppError("account_banned", "Cannot let the user in as the account is banned", {
    details: { until: ban?.until ?? null },
  });
}
