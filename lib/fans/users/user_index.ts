/**
 * The index of users: lists users who sign up and removes those who are deleted. Entries are hints; the user's own records
 * decide. An organisation's users are spread over shards by their id, and each shard has one board for each order in which
 * users are listed.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { shardOf } from "../../base/text/mod.ts";
import { Cache } from "../../storage/background/mod.ts";
import {
  type BoardEntry,
  decide,
  type Partition,
  type ReadRecord,
  type ReadStanding,
  readPageAfter,
  type Store,
  type Stored,
  storageLimits,
  tenantPartition,
  type Write,
} from "../../storage/mod.ts";
import { keyName, platformPartition } from "../../storage/names.ts";
import { foldName, textScore } from "./names.ts";

/** Number of partitions over which the users of an organisation are spread. */
export const userShards = 64;

/** The boards of a shard, whose members are user ids. */
export const userBoards = {
  /** When a user was created, in Unix ms. */
  created: "created",
  /** When a user was last active, in Unix ms, to the hour. */
  active: "active",
  field: (name: string): string => keyName("field", name),
  /** Updates of indexed custom fields that are under way, by the time at which they began, Unix ms. */
  updates: "updates",
  /** The digest of the registered name; see `names.ts`. */
  name: "name",
  /** The values of a metric; ties are the times, in Unix ms, at which they were written. */
  metric: (metricId: string): string => keyName("metric", metricId),
} as const;

/** The board of organisations that have users. */
export const organisationsKey = "organisations";

/** Precision in ms of the time at which a user was last active: each process writes it at most once an hour. */
export const activityMs = 3_600_000;

/** Returns the partition that lists the organisations with users. */
export function organisationsPartition(): Partition {
  return platformPartition("agenda");
}

/** Returns one shard of an organisation's users. The queue of due users shares the partition, so that one commit writes both. */
export function userShardPartition(organisationId: string, shard: number): Partition {
  return tenantPartition({ organisation: organisationId }, "agenda", String(shard));
}

export function userShardOf(userId: string): number {
  return shardOf(userId, userShards);
}

export function userIndexPartition(organisationId: string, userId: string): Partition {
  return userShardPartition(organisationId, userShardOf(userId));
}

export function userShardPartitions(organisationId: string): readonly Partition[] {
  return Array.from({ length: userShards }, (_, shard) => userShardPartition(organisationId, shard));
}

/** Returns the writes that list a user in its shard; repeating them changes nothing. */
export function listingWrites(userId: string, now: number): readonly Write[] {
  return [{ type: "score", op: "min", key: userBoards.created, member: userId, score: now }];
}

/** Returns the writes that note a user's activity in its shard; late ones change nothing. */
export function activityWrites(userId: string, now: number): readonly Write[] {
  return [{ type: "score", op: "max", key: userBoards.active, member: userId, score: now }];
}

/** The time of a name that is read from records: every change that a server writes is later. */
export const builtAsOf = 1;

/** Returns the writes that list a user under a registered name, as of a time in Unix ms; late ones change nothing. */
export function nameWrites(userId: string, name: string, asOf: number): readonly Write[] {
  const folded = foldName(name);
  if (folded === "") return [];
  const score = textScore(folded);
  return [{ type: "score", op: "set", key: userBoards.name, member: userId, score, asOf }];
}

/** Returns the partition that says which indexes of an organisation are complete, and which projects have users. */
export function indexPartition(organisationId: string): Partition {
  return tenantPartition({ organisation: organisationId }, "user_index");
}

/** The board of an organisation's projects that have users. */
export const projectsKey = "projects";

/** Returns the writes that list an organisation with users; repeating them changes nothing. */
export function organisationWrites(organisationId: string, now: number): readonly Write[] {
  return [{ type: "score", op: "min", key: organisationsKey, member: organisationId, score: now }];
}

/** Most users of one call of {@linkcode listRecordedUsers}. */
export const recordedUsersMax = 200;

/** The record in a user's partition that says how the user signed up. */
export interface AccountNote {
  readonly projectId: string;
  /** Provider with which the user signed up; empty for a removed one. */
  readonly provider: string;
  /** Unix ms; null while the user exists. */
  readonly removedAt: number | null;
  /** The name under which the user registered; absent in notes of earlier versions. */
  readonly name?: string;
  /** When the user signed up, Unix ms; absent in notes of earlier versions. */
  readonly createdAt?: number;
}

interface UserName {
  readonly organisationId: string;
  readonly userId: string;
}

interface ListedAccount extends UserName {
  readonly projectId: string;
  readonly provider: string;
  readonly name: string;
}

export const readAccountNote: ReadRecord = { type: "record", key: keyName("account") };

export function parseAccountNote(stored: Stored | null): AccountNote | null {
  return stored === null ? null : (JSON.parse(stored.value) as AccountNote);
}

/** Returns the project in which a user signed up; null for one who did not, or is removed. */
export function signUpProjectOf(stored: Stored | null): string | null {
  const note = parseAccountNote(stored);
  return note === null || note.removedAt !== null ? null : note.projectId;
}

/** Writes the index of users. Every call may be repeated. */
interface UserIndex {
  /** Lists a user. Call it before the user is stored, so that every stored user is listed. */
  add(account: ListedAccount): Promise<void>;
  /**
   * Notes how a user signs in, and is called, from now on; changes nothing for a removed user. What a failure leaves out is noted
   * when the user next signs in.
   */
  changed(account: ListedAccount): Promise<void>;
  /** Notes that a user has signed in, and how and under which name; writes at most once an hour unless the account has changed. */
  signedIn(account: ListedAccount): Promise<void>;
  /**
   * Removes a user, also from boards of declared indexes. Call it before the user's records are removed, so that an interrupted
   * removal is repeated.
   */
  remove(account: Omit<ListedAccount, "provider" | "name">, indexes: readonly string[]): Promise<void>;
}

interface UserIndexAccess {
  readonly store: Store;
  readonly clock: Clock;
  /** Returns the partition of a user's own records. */
  readonly partitionOf: (user: UserName) => Partition;
}

export function createUserIndex({ store, clock, partitionOf }: UserIndexAccess): UserIndex {
  const organisations = new Cache<true>({ entriesMax: 10_000 });
  const projects = new Cache<true>({ entriesMax: 10_000 });
  const signedInUsers = new Cache<true>({ entriesMax: 100_000, maxAgeMs: activityMs, clock });
  async function listOrganisation(id: string, now: number): Promise<void> {
    if (organisations.get(id) === true) return;
    await store.commit(organisationsPartition(), { writes: organisationWrites(id, now) });
    organisations.set(id, true);
  }
  async function listProject(organisationId: string, projectId: string, now: number): Promise<void> {
    const name = nameOf({ organisationId, userId: projectId });
    if (projects.get(name) === true) return;
    await store.commit(indexPartition(organisationId), { writes: [projectWrite(projectId, now)] });
    projects.set(name, true);
  }
  async function note(user: UserName, account: AccountNote): Promise<void> {
    const value = JSON.stringify(account);
    await store.commit(partitionOf(user), { writes: [{ type: "put", key: readAccountNote.key, value }] });
  }
  return {
    async add(account) {
      const { organisationId, userId, projectId, provider, name } = account;
      const now = clock();
      const writes = [
        ...listingWrites(userId, now),
        ...activityWrites(userId, now),
        ...nameWrites(userId, name, now),
      ];
      await Promise.all([
        listOrganisation(organisationId, now),
        listProject(organisationId, projectId, now),
        store.commit(userIndexPartition(organisationId, userId), { writes }),
        note(account, { projectId, provider, removedAt: null, name, createdAt: now }),
      ]);
      signedInUsers.set(nameOf(account), true);
    },
    async changed(account) {
      const { organisationId, userId, name } = account;
      signedInUsers.delete(nameOf(account));
      if (!(await noteAccount({ store, partitionOf }, account))) return;
      await store.commit(userIndexPartition(organisationId, userId), {
        writes: nameWrites(userId, name, clock()),
      });
    },
    async signedIn(account) {
      if (signedInUsers.get(nameOf(account)) === true) return;
      const { organisationId, userId, name } = account;
      if (!(await noteAccount({ store, partitionOf }, account))) return;
      const now = clock();
      await store.commit(userIndexPartition(organisationId, userId), {
        writes: [...activityWrites(userId, now), ...nameWrites(userId, name, now)],
      });
      signedInUsers.set(nameOf(account), true);
    },
    async remove(account, indexes) {
      const { organisationId, userId } = account;
      await note(account, { projectId: account.projectId, provider: "", removedAt: clock() });
      await store.commit(userIndexPartition(organisationId, userId), {
        writes: [userBoards.created, userBoards.active, userBoards.name, ...indexes].map(
          key => ({ type: "unscore", key, member: userId }) as const,
        ),
      });
    },
  };
}

function projectWrite(projectId: string, now: number): Write {
  return { type: "score", op: "min", key: projectsKey, member: projectId, score: now };
}

/** Ids of organisations have no slash. */
function nameOf({ organisationId, userId }: UserName): string {
  return `${organisationId}/${userId}`;
}

/** Lists the organisations that have users, oldest first. */
export async function* listedOrganisations(store: Store): AsyncGenerator<string, void> {
  const { rangeLimitMax: limit } = storageLimits;
  for (let after: BoardEntry | null = null; ; ) {
    const query = { key: organisationsKey, direction: "asc", after, limit } as const;
    const { entries, isEnd } = await readPageAfter(store, organisationsPartition(), query);
    for (const { member } of entries) yield member;
    if (isEnd) return;
    after = entries.at(-1) ?? after;
  }
}

export interface RecordedUser extends UserName {
  /** When the user was created, Unix ms. */
  readonly cameAt: number;
  /** When the user was last active according to the records, Unix ms. */
  readonly lastActiveAt: number;
  /** When the records were read, Unix ms: a name that was written later stays. */
  readonly readAt: number;
  /** Provider with which the user signed up; null where the user did not, or nothing is recorded. */
  readonly account: (Pick<AccountNote, "projectId" | "provider"> & { readonly name: string }) | null;
}

/**
 * Lists those of up to {@linkcode recordedUsersMax} users with records that the index does not list, and notes how they signed
 * up. Listed users keep their position, so that running walks read each user once; removed users are skipped. Returns the
 * number of newly listed users.
 */
export async function listRecordedUsers(
  access: Pick<UserIndexAccess, "store" | "partitionOf">,
  users: readonly RecordedUser[],
): Promise<number> {
  const { store } = access;
  const existing = await Promise.all(users.map(async user => ((await exists(access, user)) ? [user] : [])));
  const shards = new Map<Partition, RecordedUser[]>();
  for (const user of existing.flat()) {
    const partition = userIndexPartition(user.organisationId, user.userId);
    const shard = shards.get(partition) ?? [];
    shard.push(user);
    shards.set(partition, shard);
  }
  const organisations = users.flatMap(user => organisationWrites(user.organisationId, user.cameAt));
  await store.commit(organisationsPartition(), { writes: organisations });
  const projects = new Map<string, Write[]>();
  for (const { organisationId, cameAt, account } of existing.flat()) {
    if (account === null) continue;
    const writes = projects.get(organisationId) ?? [];
    projects.set(organisationId, [...writes, projectWrite(account.projectId, cameAt)]);
  }
  for (const [organisationId, writes] of projects) {
    await store.commit(indexPartition(organisationId), { writes });
  }
  const listed = await Promise.all(
    [...shards].map(([partition, shard]) => listAbsent(store, partition, shard)),
  );
  return listed.reduce((sum, count) => sum + count, 0);
}

/** Tells whether a user is not removed; notes how the user signed up first, as signing up does. */
async function exists(
  access: Pick<UserIndexAccess, "store" | "partitionOf">,
  user: RecordedUser,
): Promise<boolean> {
  const { account, ...name } = user;
  if (account !== null) return await noteAccount(access, { ...name, ...account });
  const [stored] = await access.store.read(access.partitionOf(user), [readAccountNote]);
  return (parseAccountNote(stored)?.removedAt ?? null) === null;
}

/** Notes how a user signs in and is called unless the user is removed; returns whether the user exists. */
export async function noteAccount(
  { store, partitionOf }: Pick<UserIndexAccess, "store" | "partitionOf">,
  account: ListedAccount,
): Promise<boolean> {
  const { projectId, provider, name } = account;
  return await decide(store, partitionOf(account), {
    reads: [readAccountNote],
    idempotent: true,
    apply([stored]) {
      const before = parseAccountNote(stored);
      if (before !== null && before.removedAt !== null) return { writes: [], answer: false };
      const note: AccountNote = { ...before, projectId, provider, removedAt: null, name };
      const value = JSON.stringify(note);
      const isNew = stored?.value !== value;
      return { writes: isNew ? [{ type: "put", key: readAccountNote.key, value }] : [], answer: true };
    },
  });
}

async function listAbsent(
  store: Store,
  partition: Partition,
  users: readonly RecordedUser[],
): Promise<number> {
  const key = userBoards.created;
  const queries = users.map(({ userId }): ReadStanding => ({ type: "standing", key, member: userId }));
  const standings = await store.read(partition, queries);
  const absent = users.filter((_, index) => standings[index] === null);
  const writes = [
    ...absent.flatMap(({ userId, cameAt, lastActiveAt }) => [
      ...listingWrites(userId, cameAt),
      ...activityWrites(userId, lastActiveAt),
    ]),
    ...users.flatMap(({ userId, account, readAt }) =>
      account === null ? [] : nameWrites(userId, account.name, readAt),
    ),
  ];
  if (writes.length > 0) await store.commit(partition, { writes });
  return new Set(absent.map(({ userId }) => userId)).size;
}

/** Control characters and those that change text direction, with which a name could disguise itself or others. */
const refused = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;
/** Any visible character: neither space nor format character. */
const visible = /[^\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Tells whether a text can be shown as a user's name: part of it is visible, and it does not affect the text around it. */
export function isPublicName(text: string): boolean {
  return text.isWellFormed() && visible.test(text) && !refused.test(text);
}
