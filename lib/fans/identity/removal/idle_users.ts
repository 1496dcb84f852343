/**
 * Removal of anonymous users who do not return.
 *
 * A board per project has the last activity of each anonymous user. A sweep takes the idle ones and removes those without
 * anything worth keeping. It first marks a user as retired, in one atomic step with the check of the last login. From then
 * on no device finds the user, and the removal can be interrupted and repeated.
 *
 * @module
 */

import type { Clock } from "../../../auth/mod.ts";
import { mapConcurrent } from "../../../storage/background/mod.ts";
import { type Partition, type Store, tenantPartition } from "../../../storage/mod.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { isAnonymous, type User, type Users } from "../users.ts";
import { IdleProjects } from "./idle_projects.ts";
import { type OnRemove, removeUser } from "./remove_user.ts";

/** Time without a registration or login after which an anonymous user is idle, in ms: 30 days. */
const idleMsDefault: number = 30 * 24 * 3_600_000;
/** Most users of one sweep. */
const sweepMax = 500;
const boards = 16;
const concurrentMax = 16;
const boardKey = "seen";

export interface IdleUsersOptions {
  readonly store: Store;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly onRemove: OnRemove;
  /** Tests if a user has something worth keeping, for example points. */
  readonly isWorthKeeping: (projectId: string, user: Pick<User, "userId">) => Promise<boolean>;
}

/** The activity of anonymous users, and the removal of idle ones. */
export class IdleUsers {
  readonly #options: IdleUsersOptions;
  readonly #projects: IdleProjects;

  constructor(options: IdleUsersOptions) {
    this.#options = options;
    const { store, clock } = options;
    this.#projects = new IdleProjects(store, clock);
  }

  /** Notes the activity of an anonymous user. */
  async noteActivity(projectId: string, userId: string): Promise<void> {
    await this.#projects.list(projectId);
    const { store, clock } = this.#options;
    await store.commit(boardOf(projectId, userId), {
      writes: [{ type: "score", op: "max", key: boardKey, member: userId, score: clock() }],
    });
  }

  /**
   * Removes idle users of a project, and returns how many it removed and how many it kept, who are checked again after another
   * idle time. `isPartial` is set if the sweep reached its bound, so that another one may find more. Sweeps that overlap, in one
   * process or several, do no harm.
   */
  async sweep(
    projectId: string,
    { idleMs = idleMsDefault }: { readonly idleMs?: number } = {},
  ): Promise<{ readonly removed: number; readonly kept: number; readonly isPartial: boolean }> {
    const deadline = this.#options.clock() - idleMs;
    const idle = await this.#idleIn(projectId, deadline);
    const outcomes = await mapConcurrent(idle.slice(0, sweepMax), concurrentMax, userId =>
      this.#removeIfIdle(projectId, userId, deadline),
    );
    return {
      removed: outcomes.filter(outcome => outcome === "removed").length,
      kept: outcomes.filter(outcome => outcome === "kept").length,
      isPartial: idle.length > sweepMax,
    };
  }

  /** Sweeps the projects that are due: each once an hour, and sooner after a partial sweep. */
  sweepDue(): Promise<void> {
    return this.#projects.sweepDue(projectId => this.sweep(projectId));
  }

  async #removeIfIdle(
    projectId: string,
    userId: string,
    deadline: number,
  ): Promise<"removed" | "kept" | "gone"> {
    const user = await this.#options.users.findById(projectId, userId);
    if (user === null || !(isAnonymous(user) || user.isRetired === true)) {
      await this.#forget(projectId, userId);
      return "gone";
    }
    const isSpared = user.isRetired !== true && (await this.#options.isWorthKeeping(projectId, user));
    const retired = isSpared ? null : await this.#retire(projectId, userId, deadline);
    if (retired === null) {
      await this.noteActivity(projectId, userId);
      return "kept";
    }
    await removeUser(this.#options, projectId, retired);
    await this.#forget(projectId, userId);
    return "removed";
  }

  async #retire(projectId: string, userId: string, deadline: number): Promise<User | null> {
    const retired = await this.#options.users.update(projectId, userId, user =>
      isAnonymous(user) && lastLogin(user) * 1_000 <= deadline ? { ...user, isRetired: true } : user,
    );
    return retired?.isRetired === true ? retired : null;
  }

  async #forget(projectId: string, userId: string): Promise<void> {
    await this.#options.store.commit(boardOf(projectId, userId), {
      writes: [{ type: "unscore", key: boardKey, member: userId }],
    });
  }

  /** Finds users whose last activity is the deadline or before: at least one more than a sweep takes, if there are. */
  async #idleIn(projectId: string, deadline: number): Promise<string[]> {
    const found = await Promise.all(
      Array.from({ length: boards }, async (_, board) => {
        const [range] = await this.#options.store.read(boardPartition(projectId, board), [
          { type: "board", key: boardKey, max: deadline, limit: sweepMax + 1 },
        ]);
        return range.entries.map(({ member }) => member);
      }),
    );
    return found.flat();
  }
}

function boardOf(projectId: string, userId: string): Partition {
  // Ids of users are random, so any part of them spreads evenly.
  return boardPartition(projectId, Number.parseInt(userId.slice(-1), 16) % boards || 0);
}

function boardPartition(projectId: string, board: number): Partition {
  return tenantPartition({ project: projectId }, "anonymous", String(board));
}

function lastLogin({ loginHistory, devices }: User): number {
  return Math.max(0, ...loginHistory, ...devices.map(device => device.lastLogin));
}
