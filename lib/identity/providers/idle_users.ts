/**
 * Anonymous users who came once and never again.
 *
 * A board per project says when each anonymous user was last here. A sweep takes those who were not for long, and removes
 * the ones of whom nothing is worth keeping. It first marks a user as retired, in one atomic step with the check that
 * nothing happened meanwhile; from then on no device leads to the user, and the removal can be interrupted and repeated.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { type Partition, type Store, tenantPartition } from "../../storage/mod.ts";
import { type OnRemove, removeUser } from "../operators/remove_user.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { isAnonymous, type User, type Users } from "../users.ts";
import { createIdleProjects } from "./idle_projects.ts";

/** Time without a registration or login after which an anonymous user counts as idle, in ms: 30 days. */
export const idleMsDefault: number = 30 * 24 * 3_600_000;
/** Most users that one sweep looks at. */
export const idleSweepMax = 500;
/** Number of boards over which the users of a project are spread. */
const boards = 16;
/** How many users are looked at side by side. */
const lanes = 16;
const boardKey = "seen";

/** What a sweep came to. */
export interface IdleSweep {
  readonly removed: number;
  /** Idle users of whom something is worth keeping; they are looked at again when they have been idle once more. */
  readonly kept: number;
  /** Whether the sweep looked at as many as it may: another one may find more. */
  readonly isPartial: boolean;
}

/** Remembers when anonymous users were last here, and removes the idle ones. */
export interface IdleUsers {
  /** Notes that an anonymous user is here. */
  seen(projectId: string, userId: string): Promise<void>;
  /** Removes idle users of a project. Sweeps that overlap, in one process or several, do no harm. */
  sweep(projectId: string, options?: { readonly idleMs?: number }): Promise<IdleSweep>;
  /**
   * Removes idle users of the projects whose turn it is: each once in {@linkcode idleSweepEveryMs}, and sooner where there are more
   * than one sweep looks at.
   */
  sweepDue(): Promise<void>;
}

/** What idle users need. */
export interface IdleUsersOptions {
  readonly store: Store;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly onRemove: OnRemove;
  /** Whether something of a user is worth keeping, points for example. */
  readonly isKept: (projectId: string, user: User) => Promise<boolean>;
}

/** Creates the memory of idle users over a store. */
export function createIdleUsers(options: IdleUsersOptions): IdleUsers {
  const { store, users, clock, isKept } = options;

  const projects = createIdleProjects({ store, clock, sweep });

  async function seen(projectId: string, userId: string): Promise<void> {
    await projects.list(projectId);
    const score = clock();
    await store.commit(boardOf(projectId, userId), {
      writes: [{ type: "score", op: "max", key: boardKey, member: userId, score }],
    });
  }

  async function forget(projectId: string, userId: string): Promise<"gone"> {
    await store.commit(boardOf(projectId, userId), {
      writes: [{ type: "unscore", key: boardKey, member: userId }],
    });
    return "gone";
  }

  async function retire(projectId: string, userId: string, deadline: number): Promise<User | null> {
    const isIdle = (user: User): boolean => isAnonymous(user) && lastLogin(user) * 1_000 <= deadline;
    const retired = await users.update(projectId, userId, user =>
      isIdle(user) ? { ...user, isRetired: true } : user,
    );
    return retired?.isRetired === true ? retired : null;
  }

  async function judge(
    projectId: string,
    userId: string,
    deadline: number,
  ): Promise<"removed" | "kept" | "gone"> {
    const user = await users.byId(projectId, userId);
    if (user === null || !(isAnonymous(user) || user.isRetired === true))
      return await forget(projectId, userId);
    const isSpared = user.isRetired !== true && (await isKept(projectId, user));
    const retired = isSpared ? null : await retire(projectId, userId, deadline);
    if (retired === null) {
      await seen(projectId, userId);
      return "kept";
    }
    await removeUser(options, projectId, retired);
    await forget(projectId, userId);
    return "removed";
  }

  async function sweep(
    projectId: string,
    { idleMs = idleMsDefault }: { readonly idleMs?: number } = {},
  ): Promise<IdleSweep> {
    const deadline = clock() - idleMs;
    const idle = await idleIn(store, projectId, deadline);
    const looked = idle.slice(0, idleSweepMax);
    const outcomes: string[] = [];
    for (let from = 0; from < looked.length; from += lanes) {
      const some = looked.slice(from, from + lanes);
      outcomes.push(...(await Promise.all(some.map(userId => judge(projectId, userId, deadline)))));
    }
    return {
      removed: outcomes.filter(outcome => outcome === "removed").length,
      kept: outcomes.filter(outcome => outcome === "kept").length,
      isPartial: idle.length > idleSweepMax,
    };
  }

  return { seen, sweep, sweepDue: projects.sweepDue };
}

/** Users who were last seen at the deadline or before: at least one more than a sweep looks at, where there are so many. */
async function idleIn(store: Store, projectId: string, deadline: number): Promise<string[]> {
  const found = await Promise.all(
    Array.from({ length: boards }, async (_, board) => {
      const [range] = await store.read(boardPartition(projectId, board), [
        { type: "board", key: boardKey, max: deadline, limit: idleSweepMax + 1 },
      ]);
      return range.entries.map(({ member }) => member);
    }),
  );
  return found.flat();
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
