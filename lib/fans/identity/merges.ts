/**
 * Merges of users: anonymous ones into the accounts that they log in to, and any whom back ends join.
 *
 * A merge is noted before it begins, and the note is worked off a minute later: it finishes what a stopped process began, and takes
 * the merged user off boards that a last score reached meanwhile.
 */

import type { Clock } from "../../auth/mod.ts";
import type { Logger } from "../../http/mod.ts";
import { DueQueue } from "../../storage/background/due_queue.ts";
import type { Store } from "../../storage/mod.ts";
import { platformPartition } from "../../storage/names.ts";
import type { Sessions } from "./sessions/sessions.ts";
import { isAnonymous, listMerge, mergeNote, type User, type Users } from "./users.ts";

/** Time in ms after which a merge is worked on again. */
const mergeAgainMs = 60_000;
const leaseMs = 60_000;
const concurrency = 8;

/** A user who goes into another: an anonymous one who logged in to an account, or one whom a back end joins. Ids of users. */
export interface AccountMerge {
  readonly projectId: string;
  readonly from: string;
  readonly into: string;
}

export interface AccountMergesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly holder: string;
  /**
   * Brings what the merged user has to the account, once, and takes the merged user off boards and the index. It may be called again
   * after an interruption.
   */
  readonly mergeUsers: (merge: AccountMerge) => Promise<void>;
}

interface NotedMerge extends AccountMerge {
  /** True where a back end joins users of any kind. */
  readonly isJoin: boolean;
}

export class AccountMerges {
  readonly #options: AccountMergesOptions;
  readonly #queue: DueQueue;

  constructor(options: AccountMergesOptions) {
    this.#options = options;
    const { store, clock, holder } = options;
    const partition = platformPartition("merges");
    this.#queue = new DueQueue({ store, clock, partition, claims: "queue", holder, leaseMs });
  }

  /** Merges a user. Of racing merges of the user one is done, and returns true. */
  async begin(merge: AccountMerge): Promise<boolean> {
    const { store, clock, users, logger } = this.#options;
    const { projectId, from, into } = merge;
    const writes = this.#queue.schedule(
      [JSON.stringify({ ...merge, isJoin: false })],
      clock() + mergeAgainMs,
    );
    await store.commit(platformPartition("merges"), { writes });
    await listMerge(store, projectId, from, into);
    let isFirst = false;
    await users.update(projectId, from, user => {
      isFirst = isAnonymous(user);
      return withMerge(user, into);
    });
    if (!isFirst) return false;
    await this.#complete(merge).catch(error =>
      logger.log("warn", "merge_deferred", { projectId, from, into, error: String(error) }),
    );
    return true;
  }

  /**
   * Joins a user of any kind with another, as a back end asks. It may be repeated. Returns false where one of both is merged into
   * another user already.
   */
  async join(merge: AccountMerge): Promise<boolean> {
    const { store, clock, users, logger } = this.#options;
    const { projectId, from, into } = merge;
    const writes = this.#queue.schedule([JSON.stringify({ ...merge, isJoin: true })], clock() + mergeAgainMs);
    await store.commit(platformPartition("merges"), { writes });
    await listMerge(store, projectId, from, into);
    if ((await users.noteMerge(projectId, from, into)) !== into) return false;
    await this.#finishJoin(merge).catch(error =>
      logger.log("warn", "merge_deferred", { projectId, from, into, error: String(error) }),
    );
    return true;
  }

  /** Finishes the merges that are due. Calls may overlap, in one process or several. */
  async work(): Promise<void> {
    const { logger } = this.#options;
    await this.#queue.processDue({
      handle: async text => {
        const { isJoin, ...merge } = JSON.parse(text) as NotedMerge;
        await (isJoin ? this.#finishJoin(merge) : this.#finish(merge));
        return null;
      },
      onFailed: (merge, error) => logger.log("warn", "merge_deferred", { merge, error: String(error) }),
      retryMs: mergeAgainMs,
      concurrency,
    });
  }

  async #finish(merge: AccountMerge): Promise<void> {
    const { users } = this.#options;
    const { projectId, from, into } = merge;
    const account = await users.findById(projectId, into);
    const user =
      account === null ? null : await users.update(projectId, from, before => withMerge(before, into));
    // It was removed, has an account of its own by now, or was merged into another one.
    if (user?.mergedInto !== into) return;
    await this.#complete(merge);
  }

  async #finishJoin(merge: AccountMerge): Promise<void> {
    const { store, users } = this.#options;
    const { projectId, from, into } = merge;
    // Another, if the merge was refused; nobody, if the user was removed since.
    if ((await mergeNote(store, projectId, from)) !== into) return;
    await users.update(projectId, from, user => ({ ...user, mergedInto: into }));
    await this.#complete(merge);
  }

  async #complete(merge: AccountMerge): Promise<void> {
    const { sessions, mergeUsers } = this.#options;
    // Session records of the anonymous user must not be accepted any more.
    await sessions.revokeAll(merge.projectId, merge.from, { isFinal: true });
    await mergeUsers(merge);
  }
}

function withMerge(user: User, into: string): User {
  return isAnonymous(user) ? { ...user, mergedInto: into } : user;
}
