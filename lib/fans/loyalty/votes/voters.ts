/**
 * The voters of elements, so that a reveal finds all whose votes it pays.
 *
 * The commit of a vote notes the element in the state of the user. Then the user is listed among the voters of the element, and the
 * note is removed with the next change. So a process may stop between: the sweep lists the user.
 */

import type { Logger } from "../../../http/mod.ts";
import type { DueQueue } from "../../../storage/background/due_queue.ts";
import { applyWrites, Batcher } from "../../../storage/background/mod.ts";
import {
  type Partition,
  type ReadLog,
  type Store,
  storageLimits,
  tenantPartition,
} from "../../../storage/mod.ts";
import { platformPartition } from "../../../storage/names.ts";
import type { CachedUser } from "../user/state.ts";
import type { ElementSource, VotedElement } from "./elements.ts";

/** Logs among which the voters of an element are spread, so that none grows with all of them. */
export const voterShards = 16;

const entryUsersMax = 500;

/** Time in ms after which reveals look at an element with new voters, whose reveal this process may not have heard of. */
export const lookAgainMs = 60_000;

const key = "voters";

/** Services that list voters. */
interface VotersServices {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
  readonly logger: Logger;
  readonly elements: ElementSource;
  readonly queue: DueQueue;
}

/** The partition of the queue of elements whose answers may have changed. */
export const revealsPartition: Partition = platformPartition("reveals");

/** Returns the partition of a shard of the voters of an element; without a shard that of its reveals. */
export function votersPartition(
  { projectId, id }: Pick<VotedElement, "projectId" | "id">,
  ...shard: readonly number[]
): Partition {
  return tenantPartition({ project: projectId }, "voters", id, ...shard.map(String));
}

export function readVoters(cursor: string | null, limit: number): ReadLog {
  const read: ReadLog = { type: "log", key, limit };
  return cursor === null ? read : { ...read, cursor };
}

export class Voters {
  readonly #services: VotersServices;
  readonly #waiting: Batcher<CachedUser>;
  #lists = 0;

  constructor(services: VotersServices) {
    this.#services = services;
    this.#waiting = new Batcher({ batchMax: entryUsersMax, run: (id, users) => this.#list(id, users) });
  }

  /** Lists a user among the voters of elements. Returns false where that failed. */
  async list(user: CachedUser, elementIds: readonly string[]): Promise<boolean> {
    const lists = user.unlisted(elementIds).map(async id => {
      try {
        await this.#waiting.add(id, user);
        return true;
      } catch (error) {
        this.#services.logger.log("warn", "voter_deferred", { error: String(error) });
        return false;
      }
    });
    return (await Promise.all(lists)).every(isListed => isListed);
  }

  idle(): Promise<void> {
    return this.#waiting.idle();
  }

  async #list(id: string, users: readonly CachedUser[]): Promise<void> {
    const { store, clock, elements, queue } = this.#services;
    const element = await elements.element(id);
    if (element !== null) {
      this.#lists += 1;
      const value = JSON.stringify(users.map(({ userId }) => userId));
      const { logLengthMax: maxLength } = storageLimits;
      await applyWrites(store, votersPartition(element, this.#lists % voterShards), [
        { type: "append", key, value, at: clock(), maxLength },
      ]);
      // After the voters, so that a process that looks at the element from then on reads them.
      await applyWrites(store, revealsPartition, queue.schedule([id], clock() + lookAgainMs, "min"));
    }
    for (const user of users) user.markListed(id);
  }
}
