/**
 * Which projects have anonymous users, and when each is to be swept next. One board of the platform says so, as there is no
 * list of all projects.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { type Partition, platformPartition, type Store } from "../../storage/mod.ts";

/** Time between two sweeps of a project, in ms: an hour. */
export const idleSweepEveryMs = 3_600_000;
/** Most projects that are swept in one round. */
export const idleProjectsMax = 20;
/** Most projects that a process knows to be listed; beyond it some are listed once more, which changes nothing. */
const knownMax = 10_000;
const key = "projects";

/** What sweeping projects needs. */
export interface IdleProjectsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Sweeps a project, and says whether another sweep may find more. */
  readonly sweep: (projectId: string) => Promise<{ readonly isPartial: boolean }>;
}

/** The projects that have anonymous users. */
export interface IdleProjects {
  /** Lists a project. */
  list(projectId: string): Promise<void>;
  /** Sweeps the projects whose time has come, at most {@linkcode idleProjectsMax}. Rounds that overlap do no harm. */
  sweepDue(): Promise<void>;
}

/** Creates the list of a process over a store. */
export function createIdleProjects({ store, clock, sweep }: IdleProjectsOptions): IdleProjects {
  const partition: Partition = platformPartition("anonymous");
  const known = new Set<string>();

  async function schedule(projectId: string, op: "set" | "max", at: number): Promise<void> {
    await store.commit(partition, { writes: [{ type: "score", op, key, member: projectId, score: at }] });
  }

  return {
    async list(projectId) {
      if (known.has(projectId)) return;
      // A project that waits for its time goes on waiting.
      await schedule(projectId, "max", clock());
      if (known.size >= knownMax) known.clear();
      known.add(projectId);
    },
    async sweepDue() {
      const now = clock();
      const [{ entries }] = await store.read(partition, [
        { type: "board", key, max: now, limit: idleProjectsMax },
      ]);
      for (const { member: projectId } of entries) {
        // Before the work, so that other processes turn to other projects, and one that fails holds up none.
        await schedule(projectId, "set", now + idleSweepEveryMs);
        const { isPartial } = await sweep(projectId);
        if (isPartial) await schedule(projectId, "set", now);
      }
    },
  };
}
