/**
 * Users whom the lists of a project's boards leave out, for example while a suspicion is looked into. They keep their
 * entries and everybody keeps their rank; who looks a hidden user up by id still finds the entry.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { FreshCache } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { decide, type Partition, type Store, storageLimits, tenantPartition } from "../../storage/mod.ts";
import { limitMax } from "../http/schema.ts";

/** Most hidden users of a project: so many that the longest page is filled from one range of a board whoever is hidden. */
export const hiddenUsersMax: number = storageLimits.rangeLimitMax - limitMax;
/** Age in ms from which the hidden users of a project are read again. */
export const hiddenUsersAgeMsMax = 900;
/** Number of projects whose hidden users a process keeps. */
export const hiddenUsersProjectsMax = 1_000;

const key = "hidden";

/** A user who is hidden. */
export interface HiddenUser {
  readonly userId: string;
  /** Unix seconds. */
  readonly since: number;
}

/** Knows and changes who is hidden. */
export interface HiddenUsers {
  /** Who is hidden, up to {@linkcode hiddenUsersAgeMsMax} ago; without a promise while that is fresh. */
  of(projectId: string): ReadonlySet<string> | Promise<ReadonlySet<string>>;
  /** Who is hidden now, in the order in which they were. */
  list(projectId: string): Promise<readonly HiddenUser[]>;
  /**
   * Hides a user; one who is hidden already stays so.
   *
   * @throws {AppError} `conflict`: {@linkcode hiddenUsersMax} others are hidden.
   */
  hide(projectId: string, userId: string): Promise<HiddenUser>;
  /** Shows a user again; nothing happens where the user is not hidden. */
  show(projectId: string, userId: string): Promise<void>;
}

/** Creates the knowledge of hidden users over a store. */
export function createHiddenUsers({
  store,
  clock,
}: {
  readonly store: Store;
  readonly clock: Clock;
}): HiddenUsers {
  const sets = new FreshCache<ReadonlySet<string>>(
    async projectId => {
      const [found] = await store.read(partitionOf(projectId), [{ type: "record", key }]);
      const users = parse(found?.value);
      return { version: found?.version ?? null, value: new Set(users.map(({ userId }) => userId)) };
    },
    { clock, ageMsMax: hiddenUsersAgeMsMax, entriesMax: hiddenUsersProjectsMax },
  );

  /** Replaces the list by what `next` makes of it; null leaves it as it is. */
  async function change(
    projectId: string,
    next: (users: readonly HiddenUser[]) => readonly HiddenUser[] | null,
  ): Promise<readonly HiddenUser[]> {
    const changed = await decide(store, partitionOf(projectId), {
      reads: [{ type: "record", key }],
      idempotent: true,
      apply: ([found]) => {
        const before = parse(found?.value);
        const after = next(before);
        const writes = after === null ? [] : [{ type: "put", key, value: JSON.stringify(after) } as const];
        return { writes, answer: after ?? before };
      },
    });
    sets.forget(projectId);
    return changed;
  }

  return {
    of: projectId => sets.get(projectId),
    async list(projectId) {
      const [found] = await store.read(partitionOf(projectId), [{ type: "record", key }]);
      return parse(found?.value);
    },
    async hide(projectId, userId) {
      const user = { userId, since: Math.floor(clock() / 1_000) };
      const users = await change(projectId, before => {
        if (before.some(other => other.userId === userId)) return null;
        if (before.length >= hiddenUsersMax) throw full();
        return [...before, user];
      });
      return users.find(other => other.userId === userId) ?? user;
    },
    async show(projectId, userId) {
      await change(projectId, before => {
        const after = before.filter(other => other.userId !== userId);
        return after.length === before.length ? null : after;
      });
    },
  };
}

function full(): AppError {
  const message = `Cannot hide the user as ${hiddenUsersMax} users of the project are hidden; show one of them again`;
  return new AppError("conflict", message);
}

function parse(text: string | undefined): readonly HiddenUser[] {
  return text === undefined ? [] : JSON.parse(text);
}

function partitionOf(projectId: string): Partition {
  return tenantPartition({ project: projectId }, "leaderboards");
}
