/**
 * Work that waits for a time, or that a dead process left: organisations, spaces and projects by the time at which there may
 * be some.
 */

import type { Home } from "../../fans/directory/mod.ts";
import type { Logger } from "../../http/mod.ts";
import { DueQueue } from "../../storage/background/due_queue.ts";
import { Cache } from "../../storage/background/mod.ts";
import type { Store } from "../../storage/mod.ts";
import { platformPartition } from "../../storage/names.ts";

const leaseMs = 60_000;
const retryMs = 60_000;
/** Time after which the work looks at a home that is about to change: longer than the change takes. */
const settlingMs = 10_000;
/** Time for which a home that was scheduled is not scheduled again. */
const scheduledMs = 1_000;
const scheduledMax = 1_000;

/** Does what is due in a home now, in Unix ms, and returns when there is more; null: not before the next change. May be repeated. */
export type WorkTask = (home: Home, now: number) => Promise<number | null>;

interface ControlWorkOptions {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
  readonly holder: string;
  readonly logger: Logger;
}

export class ControlWork {
  readonly #options: ControlWorkOptions;
  readonly #queue: DueQueue;
  readonly #scheduled: Cache<true>;
  readonly #tasks: WorkTask[] = [];

  constructor(options: ControlWorkOptions) {
    const { store, clock, holder } = options;
    this.#options = options;
    const partition = platformPartition("control");
    this.#queue = new DueQueue({ store, clock, partition, claims: "member", holder, leaseMs });
    this.#scheduled = new Cache({ entriesMax: scheduledMax, maxAgeMs: scheduledMs, clock });
  }

  /** Adds a task that every scheduled home has done. */
  add(task: WorkTask): void {
    this.#tasks.push(task);
  }

  /**
   * Lets the tasks look at a home soon. Call it before a change, so that a process which dies after the change leaves nothing
   * undone.
   */
  async expect({ kind, id }: Home): Promise<void> {
    const { store, clock } = this.#options;
    const member = `${kind}/${id}`;
    await this.#scheduled.getOrLoad(member, async () => {
      const writes = this.#queue.schedule([member], clock() + settlingMs, "min");
      await store.commit(platformPartition("control"), { writes });
      return { value: true };
    });
  }

  async run(): Promise<void> {
    const { clock, logger } = this.#options;
    await this.#queue.processDue({
      retryMs,
      onFailed: (member, error) =>
        logger.log("error", "control_work_failed", { member, reason: String(error) }),
      handle: async member => {
        const [kind, id = ""] = member.split("/");
        const times: number[] = [];
        for (const task of this.#tasks) {
          const at = await task({ kind, id } as Home, clock());
          if (at !== null) times.push(at);
        }
        return times.length === 0 ? null : Math.min(...times);
      },
    });
  }
}
