/**
 * The stored users of projects.
 *
 * A user is one record in a partition of its own. A lookup key (an external id, a device, …) is a record elsewhere with
 * the ids of its user. It is written before the user, so that a crash leaves at most a key without a user.
 */

import { capabilityId, uuid } from "../../auth/crypto/mod.ts";
import type { Clock, MasterSecret, RandomBytes } from "../../auth/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import { Cache, mapConcurrent } from "../../storage/background/mod.ts";
import { decide, type Partition, type Store, tenantPartition } from "../../storage/mod.ts";
import { keyName } from "../../storage/names.ts";
import type { Project } from "../directory/mod.ts";
import type { PublicProfiles } from "../leaderboards/mod.ts";
import type { ExternalIds, UserIds } from "./external_ids.ts";
import {
  type ClaimedKey,
  claimPartition,
  claimRead,
  claimWrite,
  emailKey,
  externalIdPartitions,
  type KeyClaim,
  type LookupKey,
  normaliseEmail,
  type Origin,
} from "./lookup_keys.ts";

/** Most logins of a user's history; the oldest is dropped first. */
const loginHistoryMax = 50;
/** Most devices of a user; the one unused for longest is dropped first. */
const devicesMax = 20;

/** A device of a user. Times in Unix seconds. */
interface Device {
  readonly deviceId: string;
  readonly signUp: number;
  readonly lastLogin: number;
}

export interface Account {
  readonly email: string;
  readonly isEmailVerified: boolean;
  /** True if somebody else registered the address too while it was not verified. */
  readonly isContested: boolean;
  readonly nickname: string;
  readonly passwordHash: string;
  /** Consent to the first and the second set of terms, as the client wrote it. */
  readonly terms: readonly [string, string];
  /** Unix seconds. */
  readonly updatedAt: number;
}

/** A ban of a user, who cannot sign in meanwhile. */
interface Ban {
  readonly reason: string;
  /** Unix seconds; null for a ban without an end. */
  readonly until: number | null;
}

/** A user of one project. Times in Unix seconds. */
export interface User extends UserIds {
  readonly provider: Provider;
  readonly username: string;
  readonly signUp: number;
  readonly loginHistory: readonly number[];
  readonly devices: readonly Device[];
  readonly appProfile: Readonly<Record<string, unknown>>;
  /** The device of an anonymous user's registration, a lookup key that a removal releases. */
  readonly registration?: { readonly deviceId: string; readonly additionalId: string };
  /** Only of the managed pool. */
  readonly account?: Account | undefined;
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
  readonly mergedInto?: string;
  /** Set while the user is being removed; nobody logs in any more. */
  readonly isRetired?: true;
}

export const providerNames = [
  "managedPool",
  "hostedIdp",
  "anonymous",
  "noLogin",
  "socialOne",
  "socialTwo",
  "socialThree",
] as const;

export type Provider = (typeof providerNames)[number];

export const userRead = { type: "record", key: "user" } as const;

/** A user for callers without the master secret, who cannot open the external id. */
export type StoredUser = Omit<User, "sealedId">;

/** Reads the stored record of a user, for callers without the master secret. */
export async function findStoredUser(
  store: Store,
  projectId: string,
  userId: string,
): Promise<StoredUser | null> {
  const [stored] = await store.read(userPartition(projectId, userId), [userRead]);
  return stored === null ? null : (JSON.parse(stored.value) as StoredUser);
}

/** Tells if a user has proved an e-mail address, or another provider says so. */
export async function isVerifiedUser(store: Store, projectId: string, userId: string): Promise<boolean> {
  const user = await findStoredUser(store, projectId, userId);
  return (user?.account ?? user?.social)?.isEmailVerified === true;
}

type Ciphers = typeof import("./external_ids.ts");
let ciphers: Ciphers | undefined;

/** Loads the ciphers of external ids, once in a process. */
export async function loadCiphers(): Promise<Ciphers> {
  ciphers ??= await import("./external_ids.ts");
  return ciphers;
}

/** The users of all projects. */
export class Users {
  readonly #store: Store;
  readonly #secret: MasterSecret;
  #externalIds: ExternalIds | undefined;

  /** `secret` keys the digests and seals of external ids. */
  constructor(store: Store, secret: MasterSecret) {
    this.#store = store;
    this.#secret = secret;
  }

  /** Makes the ids of a new user. The external id, 160 random bits, is a capability. */
  async newIds(random: RandomBytes, userId: string = uuid(random)): Promise<UserIds> {
    return (await this.#loadExternalIds()).seal(userId, capabilityId(random));
  }

  /** Returns the external id of a user, for answers to that very user. */
  async externalIdOf(ids: UserIds): Promise<string> {
    return (await this.#loadExternalIds()).open(ids);
  }

  /** Parses the stored record of a user. */
  parse(text: string): User {
    return JSON.parse(text) as User;
  }

  async findById(projectId: string, userId: string): Promise<User | null> {
    const [stored] = await this.#store.read(userPartition(projectId, userId), [userRead]);
    return stored === null ? null : this.parse(stored.value);
  }

  async findByKey(projectId: string, key: LookupKey): Promise<User | null> {
    const userId = await this.holderOf(projectId, key);
    return userId === null ? null : await this.findById(projectId, userId);
  }

  /** Returns the id of the user who holds a lookup key, or null. A user who is just signing up may not be stored yet. */
  async holderOf(projectId: string, key: LookupKey): Promise<string | null> {
    for (const partition of await this.#partitionsOf(projectId, key)) {
      const [claim] = await this.#store.read(partition, [claimRead]);
      if (claim !== null) return (JSON.parse(claim.value) as KeyClaim).userId;
    }
    return null;
  }

  /** Stores a new user and the key of its external id. An existing user stays as it is. */
  async create(projectId: string, user: User): Promise<User> {
    await this.#putExternalId(projectId, user);
    return await decide(this.#store, userPartition(projectId, user.userId), {
      reads: [userRead],
      idempotent: true,
      apply: ([stored]) =>
        stored === null
          ? { writes: userWrites(user), answer: user }
          : { writes: [], answer: this.parse(stored.value) },
    });
  }

  /** Changes a user atomically by a pure function; null if there is none. */
  async update(projectId: string, userId: string, change: (user: User) => User): Promise<User | null> {
    return await decide(this.#store, userPartition(projectId, userId), {
      reads: [userRead],
      apply: ([stored]) => {
        if (stored === null) return { writes: [], answer: null };
        const user = change(this.parse(stored.value));
        return { writes: userWrites(user), answer: user };
      },
    });
  }

  /**
   * Claims a lookup key for `ids` and returns the ids of its holder, the same for all racers. With `until` (Unix ms) the claim
   * expires then, unless its holder claims the key again without a time.
   */
  async claim(
    projectId: string,
    key: ClaimedKey,
    { userId, sealedId }: UserIds,
    { until }: { readonly until?: number } = {},
  ): Promise<UserIds> {
    return await decide(this.#store, claimPartition(projectId, key), {
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

  /** Makes a claim that expires one for good; false where the user does not hold the key any more. */
  async keep(projectId: string, key: ClaimedKey, userId: string): Promise<boolean> {
    return await decide(this.#store, claimPartition(projectId, key), {
      reads: [claimRead],
      idempotent: true,
      apply: ([stored]) => {
        const claim = stored === null ? null : (JSON.parse(stored.value) as KeyClaim);
        if (claim?.userId !== userId) return { writes: [], answer: false };
        const { until, ...ids } = claim;
        return { writes: until === undefined ? [] : [claimWrite(ids, undefined)], answer: true };
      },
    });
  }

  async keysOf(user: User): Promise<readonly LookupKey[]> {
    const { registration, account, origin } = user;
    return [
      { kind: "external", externalId: await this.externalIdOf(user) },
      ...(registration === undefined ? [] : [{ kind: "device" as const, ...registration }]),
      ...(account === undefined ? [] : [{ kind: "email" as const, email: normaliseEmail(account.email) }]),
      ...(origin === undefined ? [] : [{ kind: "origin" as const, ...origin }]),
    ];
  }

  /** Claims a lookup key that a user had, and returns the id of its holder. */
  async restore(projectId: string, key: LookupKey, user: User): Promise<string> {
    if (key.kind !== "external") return (await this.claim(projectId, key, user)).userId;
    await this.#putExternalId(projectId, user);
    return user.userId;
  }

  /** Releases a lookup key if this user holds it. */
  async release(projectId: string, key: LookupKey, userId: string): Promise<void> {
    for (const partition of await this.#partitionsOf(projectId, key)) {
      await decide(this.#store, partition, {
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
  }

  /**
   * Notes that a user is merged into another, and returns whom it is merged into, now or before; null if that other is itself merged
   * into somebody. The notes of a project are in one partition, so that racing merges never go in a circle.
   */
  async noteMerge(projectId: string, from: string, into: string): Promise<string | null> {
    return await decide(this.#store, mergesPartition(projectId), {
      reads: [mergeRead(from), mergeRead(into)],
      idempotent: true,
      apply: ([before, onwards]) => {
        if (before !== null) return { writes: [], answer: before.value };
        if (onwards !== null) return { writes: [], answer: null };
        return { writes: [{ type: "put", key: mergeRead(from).key, value: into }], answer: into };
      },
    });
  }

  /** Returns the user that one was merged into by a back end, or the user itself. */
  async mergeTarget(projectId: string, userId: string): Promise<string> {
    let target = userId;
    for (;;) {
      const into = await mergeNote(this.#store, projectId, target);
      if (into === null) return target;
      target = into;
    }
  }

  /**
   * Removes the records of a user, if there are any. Its lookup keys are released before, so that an interrupted removal
   * can be repeated.
   */
  async remove(projectId: string, userId: string): Promise<void> {
    await this.#store.commit(userPartition(projectId, userId), {
      writes: [
        ...["user", "name", userAuditKey].map(key => ({ type: "delete", shape: "record", key }) as const),
        { type: "delete", shape: "board", key: mergedKey },
      ],
    });
    // Last, as the removal of the user who took this one over finds it by the note.
    await this.#store.commit(mergesPartition(projectId), {
      writes: [{ type: "delete", shape: "record", key: mergeRead(userId).key }],
    });
  }

  /** Seals the external id of a user, and keys it, under the first secret alone. It may be repeated. */
  async sealAnew(projectId: string, userId: string): Promise<void> {
    const user = await this.findById(projectId, userId);
    if (user === null) return;
    const externalId = await this.externalIdOf(user);
    const { sealedId } = (await this.#loadExternalIds()).seal(userId, externalId);
    if (sealedId === user.sealedId) return;
    await this.#putExternalId(projectId, { userId, sealedId });
    const [, ...others] = await this.#partitionsOf(projectId, { kind: "external", externalId });
    for (const partition of others) {
      await this.#store.commit(partition, {
        writes: [{ type: "delete", shape: "record", key: claimRead.key }],
      });
    }
    // Last, so that a user whose id is sealed anew is done.
    await this.update(projectId, userId, before => ({ ...before, sealedId }));
  }

  /** Seals the external id in the claim of a partition under the first secret. It may be repeated. */
  async sealClaimAnew(partition: Partition): Promise<void> {
    const externalIds = await this.#loadExternalIds();
    await decide(this.#store, partition, {
      reads: [claimRead],
      idempotent: true,
      apply: ([stored]) => {
        const claim = stored === null ? null : (JSON.parse(stored.value) as KeyClaim);
        if (claim === null) return { writes: [], answer: undefined };
        const { until, ...ids } = claim;
        const { sealedId } = externalIds.seal(ids.userId, externalIds.open(ids));
        const isSame = sealedId === ids.sealedId;
        return { writes: isSame ? [] : [claimWrite({ ...ids, sealedId }, until)], answer: undefined };
      },
    });
  }

  async #putExternalId(projectId: string, { userId, sealedId }: UserIds): Promise<void> {
    const key = { kind: "external", externalId: await this.externalIdOf({ userId, sealedId }) } as const;
    const [newest] = await this.#partitionsOf(projectId, key);
    await this.#store.commit(newest, {
      writes: [{ type: "put", key: "user", value: JSON.stringify({ userId }) }],
    });
  }

  async #partitionsOf(projectId: string, key: LookupKey): Promise<readonly [Partition, ...Partition[]]> {
    if (key.kind !== "external") return [claimPartition(projectId, key)];
    return externalIdPartitions(projectId, key.externalId, await this.#loadExternalIds());
  }

  async #loadExternalIds(): Promise<ExternalIds> {
    const { ExternalIds } = await loadCiphers();
    this.#externalIds ??= new ExternalIds(this.#secret);
    return this.#externalIds;
  }
}

/** Returns a user at sign-up, who has not logged in yet. */
export function newUser(
  ids: UserIds,
  signUp: number,
  facts: Pick<User, "provider" | "username"> & Partial<User>,
): User {
  return { ...ids, signUp, loginHistory: [], devices: [], appProfile: {}, ...facts };
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

/** Tests if the user logged in on the device before. */
export function hasDevice({ devices }: User, deviceId: string): boolean {
  return devices.some(device => device.deviceId === deviceId);
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

export const userAuditKey = "audit";

/** Names the partition of a user's records. The name has a record of its own, because boards read only that, often. */
export function userPartition(projectId: string, userId: string): Partition {
  return tenantPartition({ project: projectId }, "user", userId);
}

function mergesPartition(projectId: string): Partition {
  return tenantPartition({ project: projectId }, "merges");
}

function mergeRead(userId: string) {
  return { type: "record", key: keyName("into", userId) } as const;
}

/** Returns the user whom a back end merged one into; null: none. */
export async function mergeNote(store: Store, projectId: string, userId: string): Promise<string | null> {
  const [stored] = await store.read(mergesPartition(projectId), [mergeRead(userId)]);
  return stored?.value ?? null;
}

const mergedKey = "merged";
const mergedReadMax = 1_000;
const usersAtOnce = 16;

/** Lists a user who is about to be merged into another, so that the other's removal finds it. It may be repeated. */
export async function listMerge(store: Store, projectId: string, from: string, into: string): Promise<void> {
  await store.commit(userPartition(projectId, into), {
    writes: [{ type: "score", op: "set", key: mergedKey, member: from, score: 0 }],
  });
}

/** Returns the users who were merged into one. A merge that was listed and did not take place is left out. */
export async function mergedUsers(store: Store, projectId: string, into: string): Promise<readonly string[]> {
  const listed: string[] = [];
  for (let isLast = false; !isLast; ) {
    const [{ entries }] = await store.read(userPartition(projectId, into), [
      { type: "board", key: mergedKey, offset: listed.length, limit: mergedReadMax },
    ]);
    listed.push(...entries.map(({ member }) => member));
    isLast = entries.length < mergedReadMax;
  }
  const merged = await mapConcurrent(listed, usersAtOnce, async from => {
    const user = await findStoredUser(store, projectId, from);
    return user?.mergedInto === into || (await mergeNote(store, projectId, from)) === into;
  });
  return listed.filter((_, index) => merged[index]);
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

/** A value that at most one user of a project has. */
export interface RegisteredKey {
  readonly kind: "email" | "externalId";
  /** An e-mail address in any spelling, or an external id. */
  readonly value: string;
}

/** Returns the ids of the users of some projects who hold a key. All projects are read at once. */
export async function findUserIds(
  users: Users,
  projectIds: readonly string[],
  { kind, value }: RegisteredKey,
): Promise<readonly string[]> {
  const key: LookupKey = kind === "email" ? emailKey(value) : { kind: "external", externalId: value };
  const found = await Promise.all(projectIds.map(projectId => users.holderOf(projectId, key)));
  return found.filter(userId => userId !== null);
}

const maxAgeMs = 1_000;
const profilesMax = 4_000;
const projectsMax = 64;

interface KnownProfile {
  readonly profile: PublicProfiles["profiles"][number];
  /** Unix ms from which it is too old. */
  readonly until: number;
}

type ProjectKey = Pick<Project, "id" | "organisationId">;

interface PublicProfilesOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Reads the display name of a user's profile, which goes before the registered name. */
  readonly displayNameOf: (organisationId: string, userId: string) => Promise<string | null>;
}

/** Creates the look-up of the public profiles of users. A cached profile is the same object. */
export function createPublicProfiles({ store, clock, displayNameOf }: PublicProfilesOptions) {
  const projects = new Cache<Cache<KnownProfile>>({ entriesMax: projectsMax });

  async function load(
    { id: projectId, organisationId }: ProjectKey,
    userIds: readonly string[],
  ): Promise<readonly KnownProfile[]> {
    const known = projects.get(projectId) ?? new Cache<KnownProfile>({ entriesMax: profilesMax });
    projects.set(projectId, known);
    const until = clock() + maxAgeMs;
    const [stored, shown] = await Promise.all([
      Promise.all(userIds.map(userId => store.read(userPartition(projectId, userId), readName))),
      Promise.all(userIds.map(userId => displayNameOf(organisationId, userId))),
    ]);
    return stored.map(([name], index) => {
      const loaded = { profile: { username: shown[index] ?? name?.value ?? "" }, until };
      known.set(userIds[index] ?? "", loaded);
      return loaded;
    });
  }

  return (project: ProjectKey, userIds: readonly string[]): PublicProfiles | Promise<PublicProfiles> => {
    const known = projects.get(project.id);
    const now = clock();
    const found = userIds.map(userId => {
      const entry = known?.get(userId);
      return entry !== undefined && now < entry.until ? entry : undefined;
    });
    if (!found.includes(undefined)) return joinProfiles(found as KnownProfile[]);
    const missing = userIds.filter((_, index) => found[index] === undefined);
    return load(project, missing).then(loaded => {
      let next = 0;
      return joinProfiles(found.flatMap(entry => entry ?? loaded[next++] ?? []));
    });
  };
}

function joinProfiles(known: readonly KnownProfile[]): PublicProfiles {
  let until = Number.POSITIVE_INFINITY;
  const profiles = known.map(entry => {
    until = Math.min(until, entry.until);
    return entry.profile;
  });
  return { profiles, until };
}

// One load for a list costs a third less than one for each of its users: a list around a user has ten other names each time.
const readName = [{ type: "record", key: "name" }] as const;
