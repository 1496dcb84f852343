/**
 * Counts actions that name an element or event, for screens.
 *
 * Counts are written every half second, so that an action waits for nothing. Nothing is counted twice: what may have been written
 * is not written again, so a process that dies, or a store that fails, loses up to half a second. Actions may name anything, so that
 * what waits is bounded, and owners are looked up some at a time.
 *
 * @module
 */

import { isUuid } from "../../auth/crypto/mod.ts";
import { directoryPartition } from "../../fans/directory/records.ts";
import { optionsOf } from "../../fans/loyalty/votes/elements.ts";
import type { Logger, Timer } from "../../http/mod.ts";
import { Batcher, mapConcurrent } from "../../storage/background/mod.ts";
import { type Add, type Store, storageLimits } from "../../storage/mod.ts";
import { statsKey } from "../table/contents.ts";
import type { Owners } from "./sources.ts";

/** Pause between writes, in ms. */
const pauseMs = 500;
/** Owners that are looked up at a time. */
const concurrency = 16;
/** Most different names that wait for the next write; actions that name others are not counted. */
const waitingNamesMax = 10_000;

/** Services that counting needs. */
interface ActionCountServices {
  readonly store: Store;
  readonly owners: Owners;
  readonly timer: Timer;
  readonly logger: Logger;
}

/** The number of actions that name the same. */
interface Named {
  readonly spaceId: string;
  readonly id: string;
  readonly option: unknown;
  count: number;
}

export class ActionCounts {
  readonly #services: ActionCountServices;
  readonly #names: Batcher<Named>;
  /** What waits for the next write, by what it names. */
  #waiting = new Map<string, Named>();
  /** Actions that are not counted as too much waits. */
  #lost = 0;
  #idlers = 0;
  #endPause: (() => void) | null = null;

  constructor(services: ActionCountServices) {
    this.#services = services;
    this.#names = new Batcher({ run: (_, names) => this.#write(names) });
  }

  /** Counts an action of a user of the space: for the element in `elementId`, or else for the event in `eventId`. */
  count(spaceId: string, { elementId, eventId, option }: Readonly<Record<string, unknown>>): void {
    const id = elementId ?? eventId;
    if (typeof id !== "string" || !isUuid(id)) return;
    const named = {
      spaceId,
      id: id.toLowerCase(),
      option: elementId === undefined ? null : option,
      count: 1,
    };
    // One sum for all that name the same, so that the others cost as little as possible.
    const key = spaceId + named.id + named.option;
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) waiting.count += 1;
    else if (this.#waiting.size >= waitingNamesMax) this.#lost += 1;
    else {
      this.#waiting.set(key, named);
      this.#names.push("", named);
    }
  }

  /** Resolves when what was counted before this call is written. */
  async idle(): Promise<void> {
    this.#idlers += 1;
    this.#endPause?.();
    await this.#names.idle();
    this.#idlers -= 1;
  }

  /** Writes all that waits, and pauses. */
  async #write(names: readonly Named[]): Promise<void> {
    const { store, timer, logger } = this.#services;
    this.#waiting = new Map();
    if (this.#lost > 0)
      logger.log("warn", "action_counts_lost", { error: "too much waited", actions: this.#lost });
    this.#lost = 0;
    try {
      const adds = await this.#addsOf(names);
      const writesMax = Math.min(storageLimits.writesMax, store.traits.maxWrites);
      for (const [partition, writes] of adds) {
        const all = [...writes.values()];
        for (let start = 0; start < all.length; start += writesMax)
          await store.commit(partition, { writes: all.slice(start, start + writesMax) });
      }
    } catch (error) {
      logger.log("warn", "action_counts_lost", { error: String(error) });
    }
    if (this.#idlers > 0) return;
    await new Promise<void>(resolve => {
      const cancel = timer(resolve, pauseMs);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
    this.#endPause = null;
  }

  /** Sums actions up, by partition and by key and field. */
  async #addsOf(names: readonly Named[]): Promise<ReadonlyMap<string, ReadonlyMap<string, Add>>> {
    const all = new Map<string, Map<string, Add>>();
    const owners = await mapConcurrent(names, concurrency, async ({ id }) => this.#services.owners.of(id));
    for (const [index, { spaceId, id, option, count }] of names.entries()) {
      const owner = owners[index];
      if (owner?.spaceId !== spaceId) continue;
      const partition = directoryPartition("project", owner.projectId);
      const adds = all.get(partition) ?? new Map<string, Add>();
      all.set(partition, adds);
      const named = [
        [id, "actions"],
        ...(optionsOf(option) ?? []).map(each => [id, String(each)] as const),
      ] as const;
      for (const [of, field] of owner.eventId === id
        ? named
        : [[owner.eventId, "actions"] as const, ...named]) {
        const key = statsKey(of);
        const by = count + (adds.get(`${key} ${field}`)?.by ?? 0);
        adds.set(`${key} ${field}`, { type: "add", key, field, by });
      }
    }
    return all;
  }
}
