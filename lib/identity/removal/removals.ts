/**
 * Removal of users by themselves or by operators.
 *
 * A board of the platform names each user who is being removed, before anything is. The user is marked as retired next, which
 * no login survives. A removal that its process did not finish is resumed by `platform.work()`. Removals that overlap do no
 * harm, so that the board needs no lease and is no `DueQueue` of lib/background.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Logger } from "../../http/mod.ts";
import { type Partition, platformPartition, type Store } from "../../storage/mod.ts";
import type { Codes } from "../codes/codes.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { User, Users } from "../users.ts";
import { type OnRemove, removeUser } from "./remove_user.ts";

/** Time after which a removal counts as interrupted, in ms. */
const interruptedAfterMs = 60_000;
/** Most removals that one call resumes. */
const resumedMax = 100;
const key = "users";

/** Services of {@linkcode Removals}. */
export interface RemovalsOptions {
  readonly store: Store;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly codes: Codes;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onRemove: OnRemove;
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
    await this.#schedule(memberOf(projectId, userId));
    await this.#run(projectId, userId);
  }

  /** Resumes removals that were interrupted. One that fails is logged and tried again later. */
  async resume(): Promise<void> {
    const { store, clock, logger } = this.#options;
    const [{ entries }] = await store.read(this.#partition, [
      { type: "board", key, max: clock() - interruptedAfterMs, limit: resumedMax },
    ]);
    for (const { member } of entries) {
      const [projectId = "", userId = ""] = JSON.parse(member) as string[];
      // Scheduled again first, so that one that always fails holds no other up.
      await this.#schedule(member);
      await this.#run(projectId, userId).catch((error: unknown) =>
        logger.log("error", "user_removal_failed", { projectId, userId, error: String(error) }),
      );
    }
  }

  async #run(projectId: string, userId: string): Promise<void> {
    const { store, users, codes, onRemove } = this.#options;
    const user = await users.update(projectId, userId, retired);
    // Without a record only the last step is missing, or other areas, which all can repeat theirs.
    if (user === null) await onRemove(projectId, userId);
    else {
      if (user.account !== undefined) await codes.revokeAll(projectId, user.account.email);
      await removeUser(this.#options, projectId, user);
    }
    await store.commit(this.#partition, {
      writes: [{ type: "unscore", key, member: memberOf(projectId, userId) }],
    });
  }

  async #schedule(member: string): Promise<void> {
    const { store, clock } = this.#options;
    await store.commit(this.#partition, {
      writes: [{ type: "score", op: "set", key, member, score: clock() }],
    });
  }
}

function memberOf(projectId: string, userId: string): string {
  return JSON.stringify([projectId, userId]);
}

function retired(user: User): User {
  return { ...user, isRetired: true };
}
