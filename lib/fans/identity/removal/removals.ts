/**
 * Removal of users by themselves or by operators.
 *
 * A board of the platform names each user who is being removed, before anything is. The user is marked as retired next, which
 * no login survives. A removal that its process did not finish is resumed by `platform.work()`, and a finished one is looked at
 * again a minute later: scores that were on their way may have listed the user anew. Removals that overlap do no harm, so that
 * the boards need no lease and are no `DueQueue` of lib/storage/background.
 */

import type { Clock } from "../../../auth/mod.ts";
import type { Logger } from "../../../http/mod.ts";
import { Cache, mapConcurrent } from "../../../storage/background/mod.ts";
import { type Partition, type Store, tenantPartition, type Write } from "../../../storage/mod.ts";
import { platformPartition } from "../../../storage/names.ts";
import type { Codes } from "../codes/codes.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { isAnonymous, mergedUsers, type User, type Users } from "../users.ts";

/** Time after which a removal counts as interrupted, and scores are no longer on their way, in ms. */
const againAfterMs = 60_000;
const resumedMax = 100;

/** The boards: users who are being removed, and those who were, by the time at which that began or ended. */
const boards = { begun: "users", ended: "ended" } as const;
type Board = (typeof boards)[keyof typeof boards];

export interface RemovalsOptions {
  readonly store: Store;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly codes: Codes;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Removes a user from other areas. It may be called again after an interruption. */
  readonly onRemove: OnRemove;
  readonly removeScores: OnRemove;
  /** Tests if a user has transactions again, as a back end has reported the id since. */
  readonly hasTransactions: (projectId: string, user: Pick<User, "userId">) => Promise<boolean>;
  readonly isReported: (projectId: string, userId: string) => Promise<boolean>;
  /** Lists a user again who has begun anew while the removal took the user off lists. */
  readonly listAgain: OnRemove;
}

export class Removals {
  readonly #options: RemovalsOptions;
  readonly #partition: Partition = platformPartition("removals");

  constructor(options: RemovalsOptions) {
    this.#options = options;
  }

  /** Removes a user with everything that the platform keeps about it, and the users who were merged into it. */
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
    const { users, store } = this.#options;
    await users.update(projectId, userId, retired);
    const removed = await removeUser(this.#options, projectId, userId);
    const ended = { type: "unscore", key: boards.begun, member: memberOf(projectId, userId) } as const;
    await store.commit(this.#partition, { writes: [...this.#endedWrites(projectId, removed), ended] });
  }

  /** Has users who were removed otherwise looked at again, as after a removal. */
  async lookAgain(projectId: string, userIds: readonly string[]): Promise<void> {
    await this.#options.store.commit(this.#partition, { writes: this.#endedWrites(projectId, userIds) });
  }

  #endedWrites(projectId: string, userIds: readonly string[]): readonly Write[] {
    const score = this.#options.clock();
    return userIds.map(id => {
      return { type: "score", op: "set", key: boards.ended, member: memberOf(projectId, id), score };
    });
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

  async #schedule(board: Board, member: string): Promise<void> {
    const { store, clock } = this.#options;
    await store.commit(this.#partition, {
      writes: [{ type: "score", op: "set", key: board, member, score: clock() }],
    });
  }
}

function memberOf(projectId: string, userId: string): string {
  return JSON.stringify([projectId, userId]);
}

function retired(user: User): User {
  return { ...user, isRetired: true };
}

export type OnRemove = (projectId: string, userId: string) => Promise<void>;

/**
 * Removes a user and first the users who were merged into it: ends sessions, removes state of other areas, releases lookup keys and
 * removes records. Returns the ids of all of them. Each user's record goes last, so that an interrupted removal can be repeated.
 */
async function removeUser(
  services: Pick<RemovalsOptions, "store" | "users" | "sessions" | "codes" | "onRemove">,
  projectId: string,
  userId: string,
  /** Ids of the users who are being removed already: racing merges may have closed a circle. */
  above: readonly string[] = [],
): Promise<readonly string[]> {
  const { store, users, sessions, codes, onRemove } = services;
  const chain = [...above, userId];
  const removed: string[] = [];
  for (const merged of await mergedUsers(store, projectId, userId)) {
    if (!chain.includes(merged)) removed.push(...(await removeUser(services, projectId, merged, chain)));
  }
  // Null: the user never signed up, or only the last step is missing. A back end may have opened sessions all the same.
  const user = await users.findById(projectId, userId);
  if (user?.account !== undefined) await codes.revoke(projectId, user.account.email);
  await sessions.revokeAll(projectId, userId, { isFinal: true });
  await onRemove(projectId, userId);
  const keys = user === null ? [] : await users.keysOf(user);
  await Promise.all(keys.map(key => users.release(projectId, key, userId)));
  await users.remove(projectId, userId);
  return [...removed, userId];
}

/** Time between two sweeps of a project, in ms: an hour. */
const sweepEveryMs = 3_600_000;
const projectsMax = 20;
const listedMax = 10_000;
const key = "projects";

export class IdleProjects {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #partition: Partition = platformPartition("anonymous");
  readonly #listed = new Cache<true>({ entriesMax: listedMax });

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async list(projectId: string): Promise<void> {
    if (this.#listed.get(projectId) === true) return;
    await this.#schedule(projectId, "max", this.#clock());
    this.#listed.set(projectId, true);
  }

  /** Sweeps the projects that are due. `isPartial` asks for another sweep soon. */
  async sweepDue(sweep: (projectId: string) => Promise<{ readonly isPartial: boolean }>): Promise<void> {
    const now = this.#clock();
    const [{ entries }] = await this.#store.read(this.#partition, [
      { type: "board", key, max: now, limit: projectsMax },
    ]);
    for (const { member: projectId } of entries) {
      // Scheduled before the work, so that other processes take other projects, and a failing one blocks none.
      await this.#schedule(projectId, "set", now + sweepEveryMs);
      const { isPartial } = await sweep(projectId);
      if (isPartial) await this.#schedule(projectId, "set", now);
    }
  }

  async #schedule(projectId: string, op: "set" | "max", at: number): Promise<void> {
    await this.#store.commit(this.#partition, {
      writes: [{ type: "score", op, key, member: projectId, score: at }],
    });
  }
}

/** Time without a registration or login after which an anonymous user is idle, in ms: 30 days. */
const idleMsDefault: number = 30 * 24 * 3_600_000;
const sweepMax = 500;
const boardCount = 16;
const concurrentMax = 16;
const boardKey = "seen";

export interface IdleUsersOptions
  extends Pick<RemovalsOptions, "store" | "users" | "sessions" | "codes" | "clock" | "onRemove"> {
  /** Tests if a user has something worth keeping, for example points. */
  readonly isWorthKeeping: (projectId: string, user: Pick<User, "userId">) => Promise<boolean>;
  readonly removals: Pick<Removals, "lookAgain">;
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
    const removed = await removeUser(this.#options, projectId, userId);
    // A back end may have reported the user meanwhile.
    await this.#options.removals.lookAgain(projectId, removed);
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
      Array.from({ length: boardCount }, async (_, board) => {
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
  return boardPartition(projectId, Number.parseInt(userId.slice(-1), 16) % boardCount || 0);
}

function boardPartition(projectId: string, board: number): Partition {
  return tenantPartition({ project: projectId }, "anonymous", String(board));
}

function lastLogin({ loginHistory, devices }: User): number {
  return Math.max(0, ...loginHistory, ...devices.map(device => device.lastLogin));
}
