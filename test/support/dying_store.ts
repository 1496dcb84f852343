/** A store whose process dies at a chosen moment: before an operation, or between its effect and its answer. */

import { AppError } from "../../lib/base/errors/mod.ts";
import type { Batch, Store } from "../../lib/storage/mod.ts";
import { isLongRun } from "./full.ts";

/** When the process dies. */
export interface Death {
  /** At which commit or read from now on, counted from 0 over both. */
  readonly at: number;
  readonly when: "before" | "after";
}

/** When processes die that die at every operation in turn: to die before one is to die after the one that it follows. */
export const moments: readonly Death["when"][] = isLongRun ? ["before", "after"] : ["after"];

/** A store that stops working for good at its death. */
export interface DyingStore extends Store {
  /** Commits and reads that were begun since the store was made, or its death was decided. */
  readonly operations: number;
  readonly isDead: boolean;
  /** Does something else that dies with the process, and counts it as an operation. */
  step<T>(operation: () => Promise<T>): Promise<T>;
  /** Decides when the process dies. */
  dieAt(death: Death): void;
}

/** Wraps a store. The wrapped one lives on, as a database does when a process that uses it dies. */
export function createDyingStore(store: Store): DyingStore {
  let operations = 0;
  let isDead = false;
  let death: Death | null = null;
  async function run<T>(operation: () => Promise<T>): Promise<T> {
    const isLast = operations++ === death?.at;
    if (isDead || (isLast && death?.when === "before")) throw died();
    const result = await operation();
    // A call that was pending when the process died may have taken effect, but nobody learns of it.
    if (isDead || isLast) throw died();
    return result;
  }
  function died(): AppError {
    isDead = true;
    return new AppError("storage_unavailable", "Cannot go on: the process has died");
  }
  return {
    traits: store.traits,
    now: store.now,
    read: (partition, queries) => run(() => store.read(partition, queries)),
    commit: (partition, batch) => run(() => store.commit(partition, batch)),
    ping: () => store.ping(),
    step: run,
    [Symbol.asyncDispose]: async () => {},
    get operations() {
      return operations;
    },
    get isDead() {
      return isDead;
    },
    dieAt(decided) {
      death = decided;
      operations = 0;
    },
  };
}

/** A death that can be undone, so that another process goes on with the store. */
export interface CommitDeath {
  /** Commits that were begun. */
  readonly commits: number;
  end(): void;
}

/** Lets the commits of a store fail from one on, before or after its effect. `done` learns of the others. */
export function dieAtCommit(
  store: Store,
  at: number,
  when: Death["when"],
  done: (partition: string, batch: Batch) => void = () => {},
): CommitDeath {
  const { commit } = store;
  let commits = 0;
  let isDead = false;
  store.commit = async (partition, batch) => {
    const isLast = commits++ === at;
    if (isDead || (isLast && when === "before")) {
      isDead = true;
      throw new Error("died");
    }
    isDead = isLast;
    const result = await commit.call(store, partition, batch);
    if (result.ok) done(partition, batch);
    if (isLast) throw new Error("died");
    return result;
  };
  return {
    get commits() {
      return commits;
    },
    end() {
      store.commit = commit;
    },
  };
}
