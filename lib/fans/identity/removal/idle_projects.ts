/**
 * The schedule of sweeps: a board of the platform with the next sweep of each project that has anonymous users.
 *
 * It is no `DueQueue` of lib/storage/background: sweeps that overlap do no harm, so that no lease is needed, and a project that
 * waits for its time must go on waiting when it is listed again.
 *
 * @module
 */

import type { Clock } from "../../../auth/mod.ts";
import { Cache } from "../../../storage/background/mod.ts";
import { type Partition, platformPartition, type Store } from "../../../storage/mod.ts";

/** Time between two sweeps of a project, in ms: an hour. */
const sweepEveryMs = 3_600_000;
/** Most projects of one round. */
const projectsMax = 20;
const listedMax = 10_000;
const key = "projects";

/** The projects with anonymous users. */
export class IdleProjects {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #partition: Partition = platformPartition("anonymous");
  /** Projects that are on the board already. */
  readonly #listed = new Cache<true>({ entriesMax: listedMax });

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Puts a project on the board. */
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
