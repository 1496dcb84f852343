/**
 * The index of users: lists users who sign up and removes those who are deleted. Entries are hints; the user's own records
 * decide. An organisation's users are spread over shards by their id, and each shard has one board for each order in which
 * users are listed.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import type { Clock } from "../../auth/mod.ts";
import { shardOf } from "../../base/text/mod.ts";
import { applyWrites, Cache, groupBy } from "../../storage/background/mod.ts";
import { readMany } from "../../storage/board_pages.ts";
import {
  type BoardEntry,
  decide,
  type Partition,
  type ReadRecord,
  readPageAfter,
  type Standing,
  type Store,
  type Stored,
  storageLimits,
  tenantPartition,
  type Write,
} from "../../storage/mod.ts";
import { keyName, platformPartition } from "../../storage/names.ts";

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
  /** The digest of the registered name; see {@linkcode textScore}. */
  name: "name",
  /** The values of a metric; ties are the times, in Unix ms, at which they were written. */
  metric: (metricId: string): string => keyName("metric", metricId),
} as const;

export const organisationsKey = "organisations";

/** Precision in ms of the time at which a user was last active: each process writes it at most once an hour. */
export const activityMs = 3_600_000;

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

/** Returns the writes that take a user off the boards of a shard, those of declared indexes included. */
export function unlistingWrites(userId: string, indexes: readonly string[]): readonly Write[] {
  return [userBoards.created, userBoards.active, userBoards.name, ...indexes].map(
    key => ({ type: "unscore", key, member: userId }) as const,
  );
}

/** Returns the writes that list a user under a registered name, as of a time in Unix ms; late ones change nothing. */
function nameWrites(userId: string, name: string, asOf: number): readonly Write[] {
  const folded = foldName(name);
  if (folded === "") return [];
  return [{ type: "score", op: "set", key: userBoards.name, member: userId, score: textScore(folded), asOf }];
}

/** Folds a name, so that spellings which people take for one name are equal: NFKC, lower case, single spaces. */
export function foldName(name: string): string {
  return name.normalize("NFKC").toLowerCase().trim().replace(/\s+/g, " ");
}

const digestBytes = 6;

/** Returns the score of a text in an index. Texts may share a score: the user's own record decides. */
export function textScore(folded: string): number {
  const digest = sha256(new TextEncoder().encode(folded));
  return digest.subarray(0, digestBytes).reduce((score, byte) => score * 256 + byte, 0);
}

/** Returns the partition that says which indexes of an organisation are complete, and which projects have users. */
export function indexPartition(organisationId: string): Partition {
  return tenantPartition({ organisation: organisationId }, "user_index");
}

export const projectsKey = "projects";

/** Returns the writes that list an organisation with users; repeating them changes nothing. */
export function organisationWrites(organisationId: string, now: number): readonly Write[] {
  return [{ type: "score", op: "min", key: organisationsKey, member: organisationId, score: now }];
}

function projectWrite(projectId: string, now: number): Write {
  return { type: "score", op: "min", key: projectsKey, member: projectId, score: now };
}

/** How a user signs in and is called. */
export interface Account {
  readonly projectId: string;
  readonly provider: string;
  readonly name: string;
  /** When the user signed up, Unix ms. */
  readonly createdAt: number;
}

/** The record in a user's partition that says how the user signed up. `removedAt` is Unix ms. */
type AccountNote =
  | (Account & {
      readonly removedAt: null;
      /** When the name was noted, Unix ms, later than the name before it: orders the writes of names to the index. */
      readonly namedAt: number;
    })
  | { readonly projectId: string; readonly removedAt: number };

export const readAccountNote: ReadRecord = { type: "record", key: keyName("account") };

export function parseAccountNote(stored: Stored | null): AccountNote | null {
  return stored === null ? null : (JSON.parse(stored.value) as AccountNote);
}

/** Returns the account of a user; null for one who did not sign up here, or is removed. */
export function parseAccount(stored: Stored | null): Account | null {
  const note = parseAccountNote(stored);
  return note?.removedAt === null ? note : null;
}

/** Returns the project in which a user signed up; null for one who did not, or is removed. */
export function signUpProjectOf(stored: Stored | null): string | null {
  return parseAccount(stored)?.projectId ?? null;
}

export interface UserName {
  readonly organisationId: string;
  readonly userId: string;
}

type ListedAccount = UserName & Omit<Account, "createdAt">;

interface UserIndexAccess {
  readonly store: Store;
  readonly partitionOf: (user: UserName) => Partition;
}

/** Writes the index of users. Every call may be repeated. */
export function createUserIndex({ store, clock, partitionOf }: UserIndexAccess & { readonly clock: Clock }) {
  const projects = new Cache<true>({ entriesMax: 10_000 });
  const signedInUsers = new Cache<true>({ entriesMax: 100_000, maxAgeMs: activityMs, clock });
  async function listProject({ organisationId, projectId }: ListedAccount, now: number): Promise<void> {
    if (projects.get(projectId) === true) return;
    await Promise.all([
      applyWrites(store, organisationsPartition(), organisationWrites(organisationId, now)),
      applyWrites(store, indexPartition(organisationId), [projectWrite(projectId, now)]),
    ]);
    projects.set(projectId, true);
  }
  async function putNote(user: UserName, note: AccountNote): Promise<void> {
    await applyWrites(store, partitionOf(user), [putAccountNote(note)]);
  }
  return {
    /** Lists a user. Call it before the user is stored, so that every stored user is listed. */
    async add(account: ListedAccount): Promise<void> {
      const { organisationId, userId, projectId, provider, name } = account;
      const now = clock();
      await Promise.all([
        listProject(account, now),
        applyWrites(store, userIndexPartition(organisationId, userId), [
          ...listingWrites(userId, now),
          ...activityWrites(userId, now),
          ...nameWrites(userId, name, now),
        ]),
        putNote(account, { projectId, provider, removedAt: null, name, createdAt: now, namedAt: now }),
      ]);
      signedInUsers.set(partitionOf(account), true);
    },
    /**
     * Notes how a user signs in, and is called, from now on; changes nothing for a removed user. A sign-in alone is written at most
     * once an hour. What a failure leaves out is noted when the user next signs in.
     */
    async changed(
      account: ListedAccount,
      { isSignIn, isOtherAccount }: { readonly isSignIn: boolean; readonly isOtherAccount: boolean },
    ): Promise<void> {
      const partition = partitionOf(account);
      if (isOtherAccount) signedInUsers.delete(partition);
      if (signedInUsers.get(partition) === true) return;
      const now = clock();
      const namedAt = await noteAccount(store, partition, { ...account, createdAt: now }, now);
      if (namedAt === null) return;
      const { organisationId, userId, name } = account;
      await applyWrites(store, userIndexPartition(organisationId, userId), [
        ...(isSignIn ? activityWrites(userId, now) : []),
        ...nameWrites(userId, name, namedAt),
      ]);
      if (isSignIn) signedInUsers.set(partition, true);
    },
    /**
     * Removes a user, also from boards of declared indexes. Call it before the user's records are removed, so that an interrupted
     * removal is repeated.
     */
    async remove(user: UserName & Pick<Account, "projectId">, indexes: readonly string[]): Promise<void> {
      const { organisationId, userId, projectId } = user;
      await putNote(user, { projectId, removedAt: clock() });
      await applyWrites(store, userIndexPartition(organisationId, userId), unlistingWrites(userId, indexes));
    },
  };
}

function putAccountNote(note: AccountNote) {
  return { type: "put", key: readAccountNote.key, value: JSON.stringify(note) } as const;
}

/** Notes how a user signs in and is called, and returns since when the name counts; null for a removed user. */
async function noteAccount(
  store: Store,
  partition: Partition,
  { projectId, provider, name, createdAt }: Account,
  now: number,
): Promise<number | null> {
  return await decide(store, partition, {
    reads: [readAccountNote],
    idempotent: true,
    apply([stored]) {
      const before = parseAccountNote(stored);
      if (before !== null && before.removedAt !== null) return { writes: [], answer: null };
      const namedBefore = before?.namedAt ?? 0;
      const namedAt = before?.name === name ? namedBefore : Math.max(now, namedBefore + 1);
      const known = { createdAt: before?.createdAt ?? createdAt, namedAt };
      const put = putAccountNote({ projectId, provider, removedAt: null, name, ...known });
      return { writes: put.value === stored?.value ? [] : [put], answer: namedAt };
    },
  });
}

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

/** Most users of one call of {@linkcode listRecordedUsers}. */
export const recordedUsersMax = 200;

export interface RecordedUser extends UserName {
  /** When the user was created, Unix ms. */
  readonly cameAt: number;
  /** When the user was last active according to the records, Unix ms. */
  readonly lastActiveAt: number;
  /** When the records were read, Unix ms: a name that was written later stays. */
  readonly readAt: number;
  /** Null where the user did not sign up. */
  readonly account: Omit<Account, "createdAt"> | null;
}

/**
 * Lists those of up to {@linkcode recordedUsersMax} users with records that the index does not list, and notes how they signed
 * up. Listed users keep their position, so that running walks read each user once; removed users are skipped. Returns the
 * number of newly listed users.
 */
export async function listRecordedUsers(
  { store, partitionOf }: UserIndexAccess,
  recorded: readonly RecordedUser[],
): Promise<number> {
  const known = await Promise.all(recorded.map(user => exists(store, partitionOf(user), user)));
  const users = recorded.filter((_, index) => known[index]);
  const listed = groupBy(users, ({ organisationId }) => organisationId).map(group =>
    listAbsent(store, group),
  );
  return (await Promise.all(listed)).reduce((sum, count) => sum + count, 0);
}

/** Tells whether a user is not removed; notes how the user signed up first, as signing up does. */
async function exists(
  store: Store,
  partition: Partition,
  { account, cameAt, readAt }: RecordedUser,
): Promise<boolean> {
  if (account !== null) {
    return (await noteAccount(store, partition, { ...account, createdAt: cameAt }, readAt)) !== null;
  }
  const [stored] = await store.read(partition, [readAccountNote]);
  return (parseAccountNote(stored)?.removedAt ?? null) === null;
}

async function listAbsent(store: Store, users: readonly RecordedUser[]): Promise<number> {
  const [{ organisationId }] = users as [RecordedUser];
  const ids = users.map(({ userId }) => userId);
  const standings = await readStandings(store, organisationId, ids, [userBoards.created]);
  const absent = new Set(users.filter(({ userId }) => standings.get(userId)?.[0] == null));
  await Promise.all([
    applyWrites(
      store,
      organisationsPartition(),
      users.flatMap(({ cameAt }) => organisationWrites(organisationId, cameAt)),
    ),
    applyWrites(
      store,
      indexPartition(organisationId),
      users.flatMap(({ account, cameAt }) =>
        account === null ? [] : projectWrite(account.projectId, cameAt),
      ),
    ),
    ...users.map(user => {
      const { userId, cameAt, lastActiveAt, account, readAt } = user;
      return applyWrites(store, userIndexPartition(organisationId, userId), [
        ...(absent.has(user)
          ? [...listingWrites(userId, cameAt), ...activityWrites(userId, lastActiveAt)]
          : []),
        ...(account === null ? [] : nameWrites(userId, account.name, readAt)),
      ]);
    }),
  ]);
  return absent.size;
}

/** Reads where users stand on boards of their shards, each shard once: by user, in the order of the boards. */
export async function readStandings(
  store: Store,
  organisationId: string,
  userIds: readonly string[],
  keys: readonly string[],
): Promise<ReadonlyMap<string, readonly (Standing | null)[]>> {
  const found = await Promise.all(
    groupBy(userIds, userId => userIndexPartition(organisationId, userId)).map(async shard => {
      const queries = shard.flatMap(member => keys.map(key => ({ type: "standing", key, member }) as const));
      const standings = await readMany(store, userIndexPartition(organisationId, shard[0] ?? ""), queries);
      return shard.map(
        (userId, nth) => [userId, standings.slice(nth * keys.length, (nth + 1) * keys.length)] as const,
      );
    }),
  );
  return new Map(found.flat());
}

/** Control characters and those that change text direction, with which a name could disguise itself or others. */
const refused = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;
/** Any visible character: neither space nor format character. */
const visible = /[^\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Tells whether a text can be shown as a user's name: part of it is visible, and it does not affect the text around it. */
export function isPublicName(text: string): boolean {
  return text.isWellFormed() && visible.test(text) && !refused.test(text);
}
