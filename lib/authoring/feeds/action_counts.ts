/**
 * Counts actions that name an element or event, for screens.
 *
 * Counts are written every half second, so that an action waits for nothing. Nothing is counted twice: what may have been written
 * is not written again, so a process that dies, or a store that fails, loses up to half a second. Actions may name anything, so that
 * what waits is bounded, and owners are looked up some at a time.
 */

import { isUuid } from "../../auth/crypto/mod.ts";
import { addBounded } from "../../base/text/mod.ts";
import { directoryPartition } from "../../fans/directory/records.ts";
import type { CountedAction } from "../../fans/loyalty/deliver.ts";
import { optionsOf } from "../../fans/loyalty/votes/elements.ts";
import type { Logger, Timer } from "../../http/mod.ts";
import { mapConcurrent, PacedBatcher } from "../../storage/background/mod.ts";
import { type Add, type Store, storageLimits } from "../../storage/mod.ts";
import { statsKey } from "../table/contents.ts";
import type { EventAnalytics, NamedActions } from "./event_analytics.ts";
import { PeopleSample } from "./people_sample.ts";
import type { Owners } from "./sources.ts";

const pauseMs = 500;
const concurrency = 16;
/** Most different names that wait for the next write; actions that name others are not counted. */
const waitingNamesMax = 10_000;

/** Services that counting needs. */
interface ActionCountServices {
  readonly store: Store;
  readonly owners: Owners;
  readonly timer: Timer;
  readonly logger: Logger;
  readonly analytics: EventAnalytics;
}

/** The actions that name the same. */
interface Named extends Omit<NamedActions, "options"> {
  readonly spaceId: string;
  readonly option: unknown;
  count: number;
  readonly gained: Map<string, number>;
}

export class ActionCounts {
  readonly #services: ActionCountServices;
  readonly #names: PacedBatcher<Named>;
  /** What waits for the next write, by what it names. */
  #waiting = new Map<string, Named>();
  /** Actions that are not counted as too much waits. */
  #lost = 0;

  constructor(services: ActionCountServices) {
    this.#services = services;
    const { timer } = services;
    this.#names = new PacedBatcher({ run: names => this.#write(names), timer, pauseMs });
  }

  /** Counts an action for the element in `elementId`, or else for the event in `eventId`. */
  count({ spaceId, userId, data: { elementId, eventId, option }, gained, isReveal }: CountedAction): void {
    const id = elementId ?? eventId;
    if (typeof id !== "string" || !isUuid(id)) return;
    const choice = elementId === undefined || isReveal ? null : option;
    // One sum for all that name the same, so that the others cost as little as possible.
    const key = spaceId + id + choice;
    let named = this.#waiting.get(key);
    if (named === undefined) {
      if (this.#waiting.size >= waitingNamesMax) {
        this.#lost += 1;
        return;
      }
      const people = new PeopleSample();
      named = { spaceId, id: id.toLowerCase(), option: choice, count: 0, gained: new Map(), people };
      this.#waiting.set(key, named);
      this.#names.push(named);
    }
    if (!isReveal) {
      named.count += 1;
      named.people.add(userId);
    }
    for (const metric in gained)
      named.gained.set(metric, addBounded(named.gained.get(metric) ?? 0, gained[metric] ?? 0));
  }

  /** Resolves when what was counted before this call is written. */
  async idle(): Promise<void> {
    await this.#names.idle();
  }

  /** Writes all that waits. */
  async #write(names: readonly Named[]): Promise<void> {
    const { store, logger } = this.#services;
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
  }

  /** Sums actions up, by partition and by key and field. */
  async #addsOf(names: readonly Named[]): Promise<ReadonlyMap<string, ReadonlyMap<string, Add>>> {
    const { owners: known, analytics } = this.#services;
    const all = new Map<string, Map<string, Add>>();
    const owners = await mapConcurrent(names, concurrency, async ({ id }) => known.of(id));
    for (const [index, { spaceId, id, option, ...actions }] of names.entries()) {
      const owner = owners[index];
      if (owner?.spaceId !== spaceId) continue;
      const options = optionsOf(option) ?? [];
      analytics.add(owner, { id, options, ...actions });
      const { count } = actions;
      if (count === 0) continue;
      const partition = directoryPartition("project", owner.projectId);
      const adds = all.get(partition) ?? new Map<string, Add>();
      all.set(partition, adds);
      const named = [[id, "actions"], ...options.map(each => [id, String(each)] as const)] as const;
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
