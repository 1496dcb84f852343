/**
 * Brings score updates to their boards in the background, many at a time.
 *
 * Updates wait in one list per board. While a commit is under way more arrive, and all of them go with the next
 * commit, so a hot board costs one commit per round trip however many users move it. An update says "this score as
 * of that revision", so that delivering it twice or late changes nothing. What cannot be delivered while the store is
 * down is given up after the last attempt: it is still in the user's own record, and delivered when that is next touched.
 *
 * @module
 */

import type { ScoreUpdate } from "../ports/score_feed.ts";
import type { Store, Write } from "../storage/mod.ts";
import { boardKey, stored } from "./place.ts";
import { targetBoard } from "./score_targets.ts";

/** Most writes that one commit to a board carries. */
export const feedBatchMax = 500;
/** Attempts to deliver a batch before it is given up. */
export const feedAttemptsMax = 3;
/** Most updates that wait in a process; beyond it new ones are left to the user's record. */
export const feedWaitingMax = 100_000;

/** What a feeder needs. */
export interface FeederOptions {
  readonly store: Store;
  /** Told of a batch that was given up. */
  readonly onGivenUp: (error: unknown) => void;
}

/** Delivers score updates. */
export interface Feeder {
  /** Takes the updates of one user; `delivered` is called once all of them are on their boards. */
  deliver(userId: string, updates: readonly ScoreUpdate[], delivered: () => void): void;
  /** Resolves when nothing waits any more. */
  idle(): Promise<void>;
}

interface Waiting {
  readonly write: Write;
  readonly done: (isDelivered: boolean) => void;
}

/** Creates a feeder over a store. */
export function createFeeder({ store, onGivenUp }: FeederOptions): Feeder {
  const lists = new Map<string, Waiting[]>();
  const running = new Map<string, Promise<void>>();
  let waiting = 0;

  async function run(partition: string, list: Waiting[]): Promise<void> {
    while (list.length > 0) {
      const batch = list.splice(0, feedBatchMax);
      const isDelivered = await commit(partition, batch);
      waiting -= batch.length;
      for (const { done } of batch) done(isDelivered);
    }
    lists.delete(partition);
    running.delete(partition);
  }

  async function commit(partition: string, batch: readonly Waiting[]): Promise<boolean> {
    const writes = batch.map(({ write }) => write);
    for (let attempt = 1; ; attempt++) {
      try {
        await store.commit(partition, { writes });
        return true;
      } catch (error) {
        if (attempt < feedAttemptsMax) continue;
        onGivenUp(error);
        return false;
      }
    }
  }

  function enqueue(partition: string, entry: Waiting): void {
    const list = lists.get(partition);
    waiting += 1;
    if (list !== undefined) {
      list.push(entry);
      return;
    }
    const created = [entry];
    lists.set(partition, created);
    // Started in a microtask, so that whoever acts in the same turn shares the first commit too.
    running.set(
      partition,
      Promise.resolve().then(() => run(partition, created)),
    );
  }

  return {
    deliver(userId, updates, delivered) {
      if (updates.length === 0 || waiting + updates.length > feedWaitingMax) return;
      let open = updates.length;
      let isAllDelivered = true;
      function done(isDelivered: boolean): void {
        open -= 1;
        isAllDelivered &&= isDelivered;
        if (open === 0 && isAllDelivered) delivered();
      }
      for (const update of updates) {
        const { partition, order } = targetBoard(update.target);
        enqueue(partition, { write: feedWrite(userId, update, order), done });
      }
    },
    async idle() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

function feedWrite(userId: string, { score, at, asOf }: ScoreUpdate, order: "desc" | "asc"): Write {
  return {
    type: "score",
    op: "set",
    key: boardKey,
    member: userId,
    score: stored({ order }, score),
    tie: at,
    asOf,
  };
}
