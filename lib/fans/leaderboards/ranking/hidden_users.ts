/**
 * Users whom the lists of a project's boards leave out, for example while a suspicion is investigated. They keep their
 * entries and everyone keeps their rank; a look-up by id still finds the entry.
 */

import * as v from "valibot";
import { AppError } from "../../../base/errors/mod.ts";
import { type Immutable, named } from "../../../http/mod.ts";
import { Cache } from "../../../storage/background/mod.ts";
import { decide } from "../../../storage/mod.ts";
import { boardsPartition, type LeaderboardServices } from "../scores/resolve_board.ts";

/** Most hidden users of a project, so that one range of a board always fills the longest page. */
export const hiddenUsersMax = 900;

const key = "hidden";

export const HiddenUserSchema = named(
  "HiddenUser",
  v.object({
    userId: v.string(),
    since: v.pipe(v.number(), v.integer(), v.description("Unix seconds")),
  }),
);
export type HiddenUser = Immutable<v.InferOutput<typeof HiddenUserSchema>>;

/** The hidden users of projects. */
export type HiddenUsers = ReturnType<typeof createHiddenUsers>;

/** Creates the hidden users over a store. */
export function createHiddenUsers({ store, clock }: Pick<LeaderboardServices, "store" | "clock">) {
  const ids = new Cache<ReadonlySet<string>>({ entriesMax: 1_000, maxAgeMs: 900, clock });

  async function load(projectId: string): Promise<{ value: ReadonlySet<string>; version: string | null }> {
    const [stored] = await store.read(boardsPartition(projectId), [{ type: "record", key }]);
    const value = new Set(parse(stored?.value).map(({ userId }) => userId));
    return { value, version: stored?.version ?? null };
  }

  /** Replaces the list by the one that `next` returns; null leaves it as it is. */
  async function change(
    projectId: string,
    next: (users: readonly HiddenUser[]) => readonly HiddenUser[] | null,
  ): Promise<readonly HiddenUser[]> {
    const changed = await decide(store, boardsPartition(projectId), {
      reads: [{ type: "record", key }],
      idempotent: true,
      apply: ([stored]) => {
        const before = parse(stored?.value);
        const after = next(before);
        const writes = after === null ? [] : [{ type: "put", key, value: JSON.stringify(after) } as const];
        return { writes, answer: after ?? before };
      },
    });
    ids.delete(projectId);
    return changed;
  }

  return {
    /** Returns the ids of hidden users, at most a second old; without a promise while they are cached. */
    of: (projectId: string): ReadonlySet<string> | Promise<ReadonlySet<string>> =>
      ids.getOrLoad(projectId, load),
    /** Lists the hidden users in the order in which they were hidden. */
    async list(projectId: string): Promise<readonly HiddenUser[]> {
      const [stored] = await store.read(boardsPartition(projectId), [{ type: "record", key }]);
      return parse(stored?.value);
    },
    /**
     * Hides a user; hiding again changes nothing.
     *
     * @throws {AppError} `conflict`: {@linkcode hiddenUsersMax} others are hidden.
     */
    async hide(projectId: string, userId: string): Promise<HiddenUser> {
      const user = { userId, since: Math.floor(clock() / 1_000) };
      const users = await change(projectId, before => {
        if (before.some(other => other.userId === userId)) return null;
        if (before.length >= hiddenUsersMax) {
          const state = `${hiddenUsersMax} users of the project are hidden; show one of them again`;
          throw new AppError("conflict", `Cannot hide the user as ${state}`);
        }
        return [...before, user];
      });
      return users.find(other => other.userId === userId) ?? user;
    },
    /** Shows a user again. */
    async show(projectId: string, userId: string): Promise<void> {
      await change(projectId, before => {
        const after = before.filter(other => other.userId !== userId);
        return after.length === before.length ? null : after;
      });
    },
  };
}

function parse(text: string | undefined): readonly HiddenUser[] {
  return text === undefined ? [] : JSON.parse(text);
}
