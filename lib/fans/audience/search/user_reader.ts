/** Reads what is stored of many users: one read of each user's partition, and one of each shard for what its index alone has. */

import type { Store, Stored } from "../../../storage/mod.ts";
import { spaceUserPartition } from "../../loyalty/user/state.ts";
import type { FactsReader, FactsSource, LoyaltyFacts } from "../../loyalty/views/loyalty_reader.ts";
import {
  type Account,
  parseAccountNote,
  readAccountNote,
  readStandings,
  userBoards,
} from "../../users/mod.ts";
import {
  ProfileMembers,
  type ProfileRecord,
  parseProfileRecord,
  readProfileRecord,
} from "../profile/record.ts";
import type { Candidate } from "./types.ts";

export interface UserRecords {
  readonly candidate: Candidate;
  readonly space: FactsReader;
  readonly profile: Stored | null;
  readonly account: Stored | null;
  /** Undefined if it was not read. */
  readonly loyalty: Stored | null | undefined;
  /** Unix ms; null if it is unknown or was not read. */
  readonly createdAt: number | null;
  /** Unix ms, to the hour; null if it is unknown or was not read. */
  readonly lastActiveAt: number | null;
}

/** A user as conditions and rows see one. Records are parsed when they are first needed. */
export class SearchedUser {
  readonly candidate: Candidate;
  readonly createdAt: number | null;
  readonly lastActiveAt: number | null;
  readonly #records: UserRecords;
  #profile: ProfileRecord | undefined;
  #members: ProfileMembers | undefined;
  #loyalty: LoyaltyFacts | undefined;
  #note: ReturnType<typeof parseAccountNote> | undefined;

  constructor(records: UserRecords) {
    this.candidate = records.candidate;
    this.createdAt = records.createdAt;
    this.lastActiveAt = records.lastActiveAt;
    this.#records = records;
  }

  get userId(): string {
    return this.candidate.userId;
  }

  /**
   * True if the user exists: the index may list one who was never stored, was removed, or was merged into another. True for any user
   * without an account whose loyalty was not read. Who was removed exists again once a back end reports the id.
   */
  get exists(): boolean {
    const { profile, loyalty } = this.#records;
    if (this.isRemoved && this.loyalty.isMerged) return false;
    return this.account !== null || profile !== null || loyalty !== null;
  }

  /** True if the user was removed or merged, so that `exists` needs the loyalty. */
  get isRemoved(): boolean {
    return (this.#storedNote?.removedAt ?? null) !== null;
  }

  get profile(): ProfileRecord {
    this.#profile ??= parseProfileRecord(this.#records.profile);
    return this.#profile;
  }

  /** Returns the JSON of a member of the profile. */
  profileJson(name: keyof ProfileRecord): string {
    this.#members ??= new ProfileMembers(this.#records.profile);
    return this.#members.text(name);
  }

  get loyalty(): LoyaltyFacts {
    this.#loyalty ??= this.#records.space.read(this.#records.loyalty ?? null);
    return this.#loyalty;
  }

  /** Null for users who did not sign up here, or were removed. */
  get account(): Account | null {
    const note = this.#storedNote;
    return note?.removedAt === null ? note : null;
  }

  get #storedNote(): ReturnType<typeof parseAccountNote> {
    if (this.#note === undefined) this.#note = parseAccountNote(this.#records.account);
    return this.#note;
  }
}

/** Data of candidates to read besides profile and account. */
export interface ReadDemand {
  readonly organisationId: string;
  readonly space: FactsReader;
  readonly loyalty: boolean;
  readonly createdAt: boolean;
  readonly lastActiveAt: boolean;
}

export interface UserReaderOptions {
  readonly store: Store;
  readonly facts: FactsSource;
}

export async function readUsers(
  { store, facts }: UserReaderOptions,
  demand: ReadDemand,
  candidates: readonly Candidate[],
): Promise<readonly SearchedUser[]> {
  const { organisationId, space } = demand;
  const queries = [readProfileRecord, readAccountNote, ...(demand.loyalty ? [facts.record] : [])];
  const needsCreation = demand.createdAt && candidates.some(({ createdAt }) => createdAt === null);
  const keys: readonly string[] = [
    ...(needsCreation ? [userBoards.created] : []),
    ...(demand.lastActiveAt ? [userBoards.active] : []),
  ];
  const ids = candidates.map(({ userId }) => userId);
  const [times, records] = await Promise.all([
    keys.length === 0 ? null : readStandings(store, organisationId, ids, keys),
    Promise.all(
      candidates.map(({ userId }) => store.read(spaceUserPartition({ organisationId, userId }), queries)),
    ),
  ]);
  const users = candidates.map((candidate, index) => {
    const [profile = null, account = null, loyalty] = records[index] ?? [];
    const standings = times?.get(candidate.userId) ?? [];
    const timeOn = (key: string): number | null => standings[keys.indexOf(key)]?.score ?? null;
    const createdAt = candidate.createdAt ?? timeOn(userBoards.created);
    const lastActiveAt = timeOn(userBoards.active);
    return new SearchedUser({ candidate, space, profile, account, loyalty, createdAt, lastActiveAt });
  });
  const removed = demand.loyalty ? [] : users.filter(user => user.isRemoved);
  if (removed.length === 0) return users;
  const found = await readUsers(
    { store, facts },
    { ...demand, loyalty: true },
    removed.map(({ candidate }) => candidate),
  );
  const byId = new Map(found.map(user => [user.userId, user]));
  return users.map(user => byId.get(user.userId) ?? user);
}
