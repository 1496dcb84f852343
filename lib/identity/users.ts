/**
 * Users of a project as they are stored, and the ways to them.
 *
 * A user is one record in a partition of its own. Ways to it (an external id, a device) are records elsewhere that
 * name the user; they are written before the user, so that a crash leaves at most a way to nobody.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Clock } from "../auth/mod.ts";
import { decide, type Partition, type Store, tenantPartition, type Write } from "../storage/mod.ts";
import { auditKey } from "./audit/places.ts";

/** Most logins that a user's history keeps; the oldest is dropped first. */
export const loginHistoryMax = 50;
/** Most devices that a user keeps; the one unused for longest is dropped first. */
export const devicesMax = 20;

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
  /** Whether the user agreed to the first and the second set of terms, as the client wrote it. */
  readonly terms: readonly [string, string];
  /** Unix seconds. */
  readonly updatedAt: number;
}

/** Why and until when a user may not sign in. */
export interface Ban {
  readonly reason: string;
  /** Unix seconds; null where the ban has no end. */
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
  /** What an anonymous user registered with: the way from it is given up when the user is removed. */
  readonly registration?: { readonly deviceId: string; readonly additionalId: string };
  /** Only of the managed pool. */
  readonly account?: Account;
  /** Who the user is at the provider that vouches for it; only of the providers that verify elsewhere. */
  readonly origin?: Origin;
  /** Only of the social providers. */
  readonly social?: SocialProfile;
  readonly ban?: Ban;
  /** The user that this one was merged into. */
  readonly mergedInto?: string;
  /** Whether the user is about to be removed for having been idle; nothing leads to it any more. */
  readonly isRetired?: true;
}

/** The providers whose users are stored. */
export type Provider =
  | "managedPool"
  | "hostedIdp"
  | "anonymous"
  | "noLogin"
  | "socialOne"
  | "socialTwo"
  | "socialThree";

/** What a social provider last said of its user; `""` where it said nothing. */
export interface SocialProfile {
  readonly nickname: string;
  readonly email: string;
  readonly isEmailVerified: boolean;
  /** Unix seconds. */
  readonly updatedAt: number;
}

/** The key of a user at another identity provider. */
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
 * What leads to one user of a project, and is therefore claimed by one user at most: an external id, a registered
 * device, a normalised e-mail address, or an identity at another provider.
 */
export type Way =
  | { readonly kind: "external"; readonly externalId: string }
  | { readonly kind: "device"; readonly deviceId: string; readonly additionalId: string }
  | { readonly kind: "email"; readonly email: string }
  | ({ readonly kind: "origin" } & Origin);

/** What a way holds. */
interface Claim extends UserIds {
  /** Unix ms, where the claim lapses. */
  readonly until?: number;
}

/** Reads and writes users. */
export interface Users {
  /** The user, or null where the project has none with this id. */
  byId(projectId: string, userId: string): Promise<User | null>;
  /** The user that a way leads to, or null. */
  byWay(projectId: string, way: Way): Promise<User | null>;
  /** Stores a new user with the way from its external id. A user that is there already stays as it is. */
  create(projectId: string, user: User): Promise<User>;
  /** Changes a user by a pure function, whoever else does so at the same time; null where there is none. */
  update(projectId: string, userId: string, change: (user: User) => User): Promise<User | null>;
  /**
   * The ids of the user that holds the way: `ids` if nobody did. Racers all get the same. With `until` (Unix ms) the claim
   * lapses then, unless its holder claims the way again without a time.
   */
  claim(projectId: string, way: Way, ids: UserIds, options?: { readonly until?: number }): Promise<UserIds>;
  /**
   * Removes what is stored of a user itself; nothing happens where there is none. Ways to it are released before, so
   * that whoever is interrupted finds the user again.
   */
  remove(projectId: string, userId: string): Promise<void>;
  /** Gives up a way that this user holds; nothing happens where another one or nobody does. */
  release(projectId: string, way: Way, userId: string): Promise<void>;
}

/** Creates the users of all projects over a store. */
export function createUsers(store: Store): Users {
  async function byId(projectId: string, userId: string): Promise<User | null> {
    const [stored] = await store.read(userPartition(projectId, userId), [{ type: "record", key: "user" }]);
    return stored === null ? null : (JSON.parse(stored.value) as User);
  }
  return {
    byId,
    async byWay(projectId, way) {
      const [claim] = await store.read(wayPartition(projectId, way), [{ type: "record", key: "user" }]);
      return claim === null ? null : await byId(projectId, (JSON.parse(claim.value) as UserIds).userId);
    },
    async create(projectId, user) {
      const { userId, externalId } = user;
      await store.commit(wayPartition(projectId, { kind: "external", externalId }), {
        writes: [{ type: "put", key: "user", value: JSON.stringify({ userId, externalId }) }],
      });
      return await decide(store, userPartition(projectId, userId), {
        reads: [{ type: "record", key: "user" }],
        idempotent: true,
        apply: ([stored]) =>
          stored === null
            ? { writes: userWrites(user), answer: user }
            : { writes: [], answer: JSON.parse(stored.value) as User },
      });
    },
    update: (projectId, userId, change) =>
      decide(store, userPartition(projectId, userId), {
        reads: [{ type: "record", key: "user" }],
        apply: ([stored]) => {
          if (stored === null) return { writes: [], answer: null };
          const user = change(JSON.parse(stored.value) as User);
          return { writes: userWrites(user), answer: user };
        },
      }),
    claim: (projectId, way, { userId, externalId }, { until } = {}) =>
      decide(store, wayPartition(projectId, way), {
        reads: [{ type: "record", key: "user" }],
        idempotent: true,
        apply: ([stored]) => {
          const held = stored === null ? null : (JSON.parse(stored.value) as Claim);
          const ids: UserIds = { userId: held?.userId ?? userId, externalId: held?.externalId ?? externalId };
          const confirms = ids.userId === userId && held?.until !== undefined && until === undefined;
          const isWritten = held === null || confirms;
          return { writes: isWritten ? [claimWrite(ids, until)] : [], answer: ids };
        },
      }),
    async remove(projectId, userId) {
      await store.commit(userPartition(projectId, userId), {
        writes: [
          { type: "delete", shape: "record", key: "user" },
          { type: "delete", shape: "record", key: "name" },
          { type: "delete", shape: "record", key: auditKey },
        ],
      });
    },
    release: (projectId, way, userId) =>
      decide(store, wayPartition(projectId, way), {
        reads: [{ type: "record", key: "user" }],
        idempotent: true,
        apply: ([stored]) => ({
          writes:
            stored !== null && (JSON.parse(stored.value) as UserIds).userId === userId
              ? [{ type: "delete", shape: "record", key: "user" }]
              : [],
          answer: undefined,
        }),
      }),
  };
}

/** The user after a login on a device that it has or now gets. */
export function loggedIn(user: User, deviceId: string, now: number): User {
  const known = user.devices.find(device => device.deviceId === deviceId);
  const device: Device = { deviceId, signUp: known?.signUp ?? now, lastLogin: now };
  const others = user.devices.filter(other => other.deviceId !== deviceId);
  return {
    ...user,
    loginHistory: [...user.loginHistory, now].slice(-loginHistoryMax),
    devices: [...others, device].slice(-devicesMax),
  };
}

/** Whether the user is anonymous still: not registered, not merged into an account and not retired. */
export function isAnonymous({ provider, mergedInto, isRetired }: User): boolean {
  return provider === "anonymous" && mergedInto === undefined && isRetired === undefined;
}

/** The clock's time in whole Unix seconds. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock() / 1_000);
}

/** Where a user's own records are. The name has a record of its own because boards read it, and nothing else, often. */
export function userPartition(projectId: string, userId: string): Partition {
  return tenantPartition({ project: projectId }, "user", userId);
}

function wayPartition(projectId: string, way: Way): Partition {
  const tenant = { project: projectId };
  switch (way.kind) {
    case "external":
      return tenantPartition(tenant, "external", way.externalId);
    case "device":
      return tenantPartition(tenant, "device", way.deviceId, way.additionalId);
    case "email":
      return tenantPartition(tenant, "email", way.email);
    case "origin":
      return tenantPartition(tenant, "origin", originTag(way));
  }
}

/** Both parts may be long, and all that a partition's name may be is short. */
function originTag({ issuer, subject }: Origin): string {
  return bytesToHex(sha256(utf8ToBytes(JSON.stringify([issuer, subject]))));
}

function claimWrite(ids: UserIds, until: number | undefined): Write {
  const value: Claim = until === undefined ? ids : { ...ids, until };
  const expiry = until === undefined ? {} : { expireAt: until };
  return { type: "put", key: "user", value: JSON.stringify(value), ...expiry };
}

function userWrites(user: User): { type: "put"; key: string; value: string }[] {
  return [
    { type: "put", key: "user", value: JSON.stringify(user) },
    { type: "put", key: "name", value: user.username },
  ];
}
