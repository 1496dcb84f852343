/**
 * The index of users as other areas write to it: who came by signing up, and who is gone.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import {
  type BoardEntry,
  BoundedCache,
  decide,
  keyName,
  type Partition,
  type ReadRecord,
  readPageAfter,
  type Store,
  type Stored,
  storageLimits,
} from "../storage/mod.ts";
import { activityMs, activityWrites, listingWrites, organisationWrites } from "./listing.ts";
import { organisationsKey, organisationsPartition, userBoards, userPartition } from "./places.ts";

/** What is noted of a user who signed up: a record of the user's own partition. */
export interface AccountNote {
  readonly projectId: string;
  /** How the user signed up; empty for one who is removed. */
  readonly provider: string;
  /** Unix ms; null while the user is there. */
  readonly removedAt: number | null;
}

/** A user who signs up. */
export interface ListedAccount extends Omit<AccountNote, "removedAt"> {
  readonly organisationId: string;
  readonly userId: string;
}

/** Reads the note. */
export const readAccountNote: ReadRecord = { type: "record", key: keyName("account") };

/** The note as it is stored. */
export function parseAccountNote(stored: Stored | null): AccountNote | null {
  return stored === null ? null : (JSON.parse(stored.value) as AccountNote);
}

/** Most users of whom a process remembers that they have signed in within the hour. */
export const signedInUsersMax = 100_000;

/** Lists users who sign up, and strikes off those who are removed. Everything may be repeated. */
export interface UserIndex {
  /** To be called before the user is stored, so that none is stored who is not listed. */
  add(account: ListedAccount): Promise<void>;
  /** Notes how a user signs in from now on, as one does who was anonymous; nothing happens where the user is removed. */
  changed(account: ListedAccount): Promise<void>;
  /** Notes that a user who is listed has signed in; each process does so once an hour. */
  signedIn(user: Pick<ListedAccount, "organisationId" | "userId">): Promise<void>;
  /** To be called before the user is removed, so that whoever is interrupted does it again. */
  remove(account: Omit<ListedAccount, "provider">): Promise<void>;
}

/** The organisations that have users, oldest first, however many. */
export async function* listedOrganisations(store: Store): AsyncGenerator<string, void> {
  for (let after: BoardEntry | null = null; ; ) {
    const query = {
      key: organisationsKey,
      direction: "asc",
      after,
      limit: storageLimits.rangeLimitMax,
    } as const;
    const { entries, isEnd } = await readPageAfter(store, organisationsPartition(), query);
    for (const { member } of entries) yield member;
    if (isEnd) return;
    after = entries.at(-1) ?? after;
  }
}

/**
 * Notes how a user signs in unless the user is removed, and answers whether the user is there.
 */
export async function noteAccount(
  { store, partitionOf }: Pick<UserIndexAccess, "store" | "partitionOf">,
  account: ListedAccount,
): Promise<boolean> {
  const { projectId, provider } = account;
  const value = JSON.stringify({ projectId, provider, removedAt: null } satisfies AccountNote);
  return await decide(store, partitionOf(account), {
    reads: [readAccountNote],
    idempotent: true,
    apply([stored]) {
      if (stored?.value === value) return { writes: [], answer: true };
      const isThere = (parseAccountNote(stored)?.removedAt ?? null) === null;
      return {
        writes: isThere ? [{ type: "put", key: readAccountNote.key, value }] : [],
        answer: isThere,
      };
    },
  });
}

/** What listing needs. */
export interface UserIndexAccess {
  readonly store: Store;
  readonly clock: Clock;
  /** Where a user's own records are. */
  readonly partitionOf: (user: Pick<ListedAccount, "organisationId" | "userId">) => Partition;
}

/** Creates the list of users who signed up. */
export function createUserIndex({ store, clock, partitionOf }: UserIndexAccess): UserIndex {
  const organisations = new Set<string>();
  /** Until when a user need not be noted as active once more, Unix ms. */
  const activeUntil = new BoundedCache<number>(signedInUsersMax);
  async function listOrganisation(member: string, now: number): Promise<void> {
    if (organisations.has(member)) return;
    await store.commit(organisationsPartition(), { writes: organisationWrites(member, now) });
    organisations.add(member);
  }
  async function note(account: ListedAccount, removedAt: number | null): Promise<void> {
    const { projectId, provider } = account;
    const value = JSON.stringify({ projectId, provider, removedAt } satisfies AccountNote);
    await store.commit(partitionOf(account), { writes: [{ type: "put", key: readAccountNote.key, value }] });
  }
  return {
    async add(account) {
      const { organisationId, userId } = account;
      const now = clock();
      const writes = [...listingWrites(userId, now), ...activityWrites(userId, now)];
      await Promise.all([
        listOrganisation(organisationId, now),
        store.commit(userPartition(organisationId, userId), { writes }),
        note(account, null),
      ]);
      activeUntil.set(nameOf(account), now + activityMs);
    },
    changed: account => noteAccount({ store, partitionOf }, account).then(() => {}),
    async signedIn({ organisationId, userId }) {
      const name = nameOf({ organisationId, userId });
      const now = clock();
      if ((activeUntil.get(name) ?? 0) > now) return;
      await store.commit(userPartition(organisationId, userId), { writes: activityWrites(userId, now) });
      activeUntil.set(name, now + activityMs);
    },
    async remove(account) {
      const { organisationId, userId } = account;
      await note({ ...account, provider: "" }, clock());
      await store.commit(userPartition(organisationId, userId), {
        writes: [userBoards.created, userBoards.active].map(
          key => ({ type: "unscore", key, member: userId }) as const,
        ),
      });
    },
  };
}

/** Ids of organisations have no slash. */
function nameOf({ organisationId, userId }: Pick<ListedAccount, "organisationId" | "userId">): string {
  return `${organisationId}/${userId}`;
}
