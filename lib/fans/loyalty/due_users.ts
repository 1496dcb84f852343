/**
 * The queue of due users: whom the sweep looks at next, and when.
 *
 * Effects of a command outside the user's partition follow after the commit. A process may end before them, and nobody would know
 * whom to look at. So the user is registered before the first change within an hour, and the sweep finds the user after that hour.
 * One commit registers many users, at the same time as the read that each change begins with.
 */

import type { Clock } from "../../auth/mod.ts";
import { DueQueue } from "../../storage/background/due_queue.ts";
import { applyWrites, Batcher, Cache } from "../../storage/background/mod.ts";
import {
  type BoardEntry,
  type ReadRecord,
  readPageAfter,
  type Store,
  type Write,
} from "../../storage/mod.ts";
import { directoryPartition, spacesKey } from "../directory/records.ts";
import {
  activityMs,
  activityWrites,
  listedOrganisations,
  listingWrites,
  organisationsKey,
  organisationsPartition,
  userShardOf,
  userShardPartition,
  userShardPartitions,
  userShards,
} from "../users/mod.ts";
import type { LoyaltyServices } from "./services.ts";
import { CachedUser, UserCache, type UserKey } from "./user/state.ts";

/** Duration of a registration in ms: the sweep looks at a user an hour after it. */
export const registrationMs = 3_600_000;
/** Time in ms by which processes renew a registration early, because their clocks may differ. */
const marginMs = 60_000;
const batchMax = 240;
const organisationsMax = 10_000;
/** Record that every registration renews, so that a sweep notices those that come while it works. */
const gateKey = "gate";

interface Registration {
  readonly user: CachedUser;
  readonly isActivity: boolean;
}

export type DueUserQueue = ReturnType<typeof createDueUserQueue>;

export function createDueUserQueue({
  store,
  clock,
  users = new UserCache(),
}: Pick<LoyaltyServices, "store" | "clock"> & { readonly users?: UserCache }) {
  const organisations = new Cache<true>({ entriesMax: organisationsMax });
  const batcher = new Batcher<Registration>({
    batchMax,
    async run(partition, registrations) {
      const now = clock();
      const writes = registrations.flatMap(one => registrationWrites(one, now));
      await applyWrites(store, partition, [{ type: "put", key: gateKey, value: "" }, ...writes]);
      for (const { user, isActivity } of registrations) {
        user.registeredUntil = now + registrationMs - marginMs;
        if (isActivity) user.activeUntil = now + activityMs - marginMs;
      }
    },
  });

  /** Lists the organisation among those that are swept. */
  async function listOrganisation(organisationId: string): Promise<{ readonly value: true }> {
    const score = clock();
    const write: Write = { type: "score", op: "min", key: organisationsKey, member: organisationId, score };
    await applyWrites(store, organisationsPartition(), [write]);
    return { value: true };
  }

  return {
    /**
     * Makes sure that a sweep will look at the user, before a change of the user is committed. Without activity, as when only time
     * passes, the user is not listed as active.
     */
    async register(
      dueUser: DueUser,
      { isActivity = true }: { readonly isActivity?: boolean } = {},
    ): Promise<void> {
      const user = dueUser instanceof CachedUser ? dueUser : users.get(dueUser);
      if (user.isRegistered(clock(), isActivity)) return;
      await organisations.getOrLoad(user.organisationId, listOrganisation);
      const partition = userShardPartition(user.organisationId, userShardOf(user.userId));
      await batcher.add(partition, { user, isActivity });
    },
  };
}

function registrationWrites({ user, isActivity }: Registration, now: number): readonly Write[] {
  const member = boardMemberOf(user);
  return [
    // Replaces any planned time: a sweep at an earlier one might come before the change, at a later one its effects would wait.
    { type: "score", op: "set", key: dueUserKeys.due, member, score: now + registrationMs },
    { type: "score", op: "min", key: dueUserKeys.users, member, score: now },
    ...listingWrites(user.userId, now),
    ...(isActivity ? activityWrites(user.userId, now) : []),
  ];
}

/** Time in ms for which a process keeps a shard while it sweeps a page of it. */
const leaseMs = 60_000;
/** Pause in ms before a user whose work failed is processed again. */
const retryMs = 60_000;
const concurrency = 16;

/** Processes every due user of every organisation. Sweeps may overlap, in one process or several. */
export async function sweepDueUsers({
  store,
  clock,
  holder,
  processUser,
  onFailed,
}: {
  readonly store: Store;
  readonly clock: Clock;
  /** Names this process among those that sweep. */
  readonly holder: string;
  /** Runs due work of a user and returns when to do so next, in Unix ms, or null for never. May be repeated. */
  readonly processUser: (user: DueUser) => Promise<number | null>;
  /** Receives failures; the user is processed again later. */
  readonly onFailed: (user: DueUser, error: unknown) => void;
}): Promise<{ readonly processed: number; readonly failed: number }> {
  let processed = 0;
  let failed = 0;
  for await (const organisationId of listedOrganisations(store)) {
    for (let shard = 0; shard < userShards; shard++) {
      const partition = userShardPartition(organisationId, shard);
      const board = dueUserKeys.due;
      const queue = new DueQueue({ store, clock, partition, board, claims: "queue", holder, leaseMs });
      const done = await queue.processDue({
        handle: member => processUser(userOfBoardMember(organisationId, member)),
        onFailed: (member, error) => onFailed(userOfBoardMember(organisationId, member), error),
        retryMs,
        concurrency,
      });
      processed += done.processed;
      failed += done.failed;
    }
  }
  return { processed, failed };
}

export type DueUser = UserKey;

const dueUserKeys = {
  /** Board: when to look at a user next, in Unix ms. */
  due: "due",
  /** Board: when a user was first seen, in Unix ms. */
  users: "users",
} as const;

/** Takes a user off the list of those who ever did anything. The queue forgets the user once nothing is due. */
export async function unlistDueUser(
  store: Store,
  { organisationId, userId }: Pick<DueUser, "organisationId" | "userId">,
): Promise<void> {
  const spaces: ReadRecord = { type: "record", key: spacesKey };
  const [stored] = await store.read(directoryPartition("organisation", organisationId), [spaces]);
  const spaceIds = stored === null ? [] : (JSON.parse(stored.value) as readonly string[]);
  const writes = spaceIds.map((spaceId): Write => {
    const member = boardMemberOf({ organisationId, spaceId, userId });
    return { type: "unscore", key: dueUserKeys.users, member };
  });
  await applyWrites(store, userShardPartition(organisationId, userShardOf(userId)), writes);
}

const pageMax = 1_000;

interface ListedUser extends DueUser {
  /** Unix ms. */
  readonly firstSeenAt: number;
}

/** Returns a user's name on the boards of a shard. Ids of spaces have no slash. */
function boardMemberOf({ spaceId, userId }: DueUser): string {
  return `${spaceId}/${userId}`;
}

function userOfBoardMember(organisationId: string, member: string): DueUser {
  const slash = member.indexOf("/");
  return { organisationId, spaceId: member.slice(0, slash), userId: member.slice(slash + 1) };
}

/**
 * Iterates over every user of an organisation who has ever done anything, shard by shard, first seen first. Users who come or are
 * removed meanwhile may be left out; none is listed twice.
 */
export async function* listUsersOf(store: Store, organisationId: string): AsyncGenerator<ListedUser, void> {
  for (const partition of userShardPartitions(organisationId)) {
    for (let after: BoardEntry | null = null, isEnd = false; !isEnd; ) {
      const query = { key: dueUserKeys.users, direction: "asc", after, limit: pageMax } as const;
      const page = await readPageAfter(store, partition, query);
      for (const { member, score } of page.entries) {
        yield { ...userOfBoardMember(organisationId, member), firstSeenAt: score };
      }
      after = page.entries.at(-1) ?? after;
      ({ isEnd } = page);
    }
  }
}

/** Returns when the work of a user of an organisation was due first, in Unix ms; null where none is planned. */
export async function oldestDueUser(store: Store, organisationId: string): Promise<number | null> {
  const query = { type: "board", key: dueUserKeys.due, limit: 1 } as const;
  const firsts = await Promise.all(
    userShardPartitions(organisationId).map(async partition => {
      const [{ entries }] = await store.read(partition, [query]);
      return entries[0]?.score ?? Number.POSITIVE_INFINITY;
    }),
  );
  const first = Math.min(...firsts);
  return Number.isFinite(first) ? first : null;
}
