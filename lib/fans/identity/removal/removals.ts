/**
 * Removal of users by themselves or by operators.
 *
 * A board of the platform names each user who is being removed, before anything is. The user is marked as retired next, which
 * no login survives. A removal that its process did not finish is resumed by `platform.work()`, and a finished one is looked at
 * again a minute later: scores that were on their way may have listed the user anew. Removals that overlap do no harm, so that
 * the boards need no lease and are no `DueQueue` of lib/storage/background.
 *
 * @module
 */

import type { Clock } from "../../../auth/mod.ts";
import type { Logger } from "../../../http/mod.ts";
import { type Partition, platformPartition, type Store, type Write } from "../../../storage/mod.ts";
import type { Codes } from "../codes/codes.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { User, Users } from "../users.ts";
import { type OnRemove, removeUser } from "./remove_user.ts";

/** Time after which a removal counts as interrupted, and scores are no longer on their way, in ms. */
const againAfterMs = 60_000;
/** Most removals of each board that one call works on. */
const resumedMax = 100;

/** The boards: users who are being removed, and those who were, by the time at which that began or ended. */
const boards = { begun: "users", ended: "ended" } as const;
type Board = (typeof boards)[keyof typeof boards];

/** Services of {@linkcode Removals}. */
export interface RemovalsOptions {
  readonly store: Store;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly codes: Codes;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onRemove: OnRemove;
  /** Takes a user off boards. */
  readonly removeScores: OnRemove;
  /** Tests if a user has transactions again, as a back end has reported the id since. */
  readonly hasTransactions: (projectId: string, user: Pick<User, "userId">) => Promise<boolean>;
  readonly isReported: (projectId: string, userId: string) => Promise<boolean>;
  /** Lists a user again who has begun anew while the removal took the user off lists. */
  readonly listAgain: OnRemove;
}

/** The removals of a platform. */
export class Removals {
  readonly #options: RemovalsOptions;
  readonly #partition: Partition = platformPartition("removals");

  constructor(options: RemovalsOptions) {
    this.#options = options;
  }

  /** Removes a user with everything that the platform keeps about it. */
  async remove(projectId: string, userId: string): Promise<void> {
    await this.#schedule(boards.begun, memberOf(projectId, userId));
    await this.#run(projectId, userId);
  }

  /** Tests if there is something to remove about a user who did not sign up, but whom back ends reported. */
  isReported(projectId: string, userId: string): Promise<boolean> {
    return this.#options.isReported(projectId, userId);
  }

  /** Resumes interrupted removals, and clears up after finished ones. One that fails is logged and tried again later. */
  async resume(): Promise<void> {
    await this.#workOn(boards.begun, (projectId, userId) => this.#run(projectId, userId));
    await this.#workOn(boards.ended, (projectId, userId) => this.#clearUp(projectId, userId));
  }

  async #workOn(board: Board, work: OnRemove): Promise<void> {
    const { store, clock, logger } = this.#options;
    const [{ entries }] = await store.read(this.#partition, [
      { type: "board", key: board, max: clock() - againAfterMs, limit: resumedMax },
    ]);
    for (const { member } of entries) {
      const [projectId = "", userId = ""] = JSON.parse(member) as string[];
      // Scheduled again first, so that one that always fails holds no other up.
      await this.#schedule(board, member);
      await work(projectId, userId).catch((error: unknown) =>
        logger.log("error", "user_removal_failed", { projectId, userId, error: String(error) }),
      );
    }
  }

  async #run(projectId: string, userId: string): Promise<void> {
    const { users, codes, onRemove } = this.#options;
    const user = await users.update(projectId, userId, retired);
    // Such a user did not sign up, or only the last step is missing. All steps can be repeated.
    if (user === null) {
      await onRemove(projectId, userId);
      await users.remove(projectId, userId);
    } else {
      if (user.account !== undefined) await codes.revoke(projectId, user.account.email);
      await removeUser(this.#options, projectId, user);
    }
    const member = memberOf(projectId, userId);
    await this.#schedule(boards.ended, member, [{ type: "unscore", key: boards.begun, member }]);
  }

  /** Takes the user off the boards and indexes that a late score reached; lists one who has begun anew. */
  async #clearUp(projectId: string, userId: string): Promise<void> {
    const { store, users, hasTransactions, removeScores, listAgain } = this.#options;
    if (await hasTransactions(projectId, { userId })) {
      await listAgain(projectId, userId);
    } else {
      await removeScores(projectId, userId);
      await users.remove(projectId, userId);
    }
    const member = memberOf(projectId, userId);
    await store.commit(this.#partition, { writes: [{ type: "unscore", key: boards.ended, member }] });
  }

  async #schedule(board: Board, member: string, more: readonly Write[] = []): Promise<void> {
    const { store, clock } = this.#options;
    await store.commit(this.#partition, {
      writes: [{ type: "score", op: "set", key: board, member, score: clock() }, ...more],
    });
  }
}

function memberOf(projectId: string, userId: string): string {
  return JSON.stringify([projectId, userId]);
}

function retired(user: User): User {
  return { ...user, isRetired: true };
}
