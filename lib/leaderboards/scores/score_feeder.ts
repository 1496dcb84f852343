/**
 * Brings score updates to their boards in the background, many at a time.
 *
 * Updates wait in one list per board. While a commit is under way more arrive, and all of them go with the next
 * commit, so a hot board costs one commit per round trip however many users move it. An update says "this score as
 * of that revision", so that delivering it twice or late changes nothing. What cannot be delivered while the store is
 * down is given up after the last attempt: it is still in the user's own record, and delivered when that is next touched.
 * Scores of a season that is over for longer than its grace time, and of boards that nothing feeds any more, are not ranked.
 *
 * @module
 */

import { Batches, type Store, whenAll } from "../../storage/mod.ts";
import type { ScoreEntry } from "./board_change.ts";
import { type BoardLocation, entryPartition } from "./board_location.ts";
import type { ResolveTarget, TargetRefusal } from "./feed_targets.ts";
import { changeScores } from "./score_batch.ts";
import type { ScoreFeed, ScoreUpdate } from "./score_feed.ts";

/** Most writes that one commit to a board carries. */
export const feedBatchMax = 500;
/** Attempts to deliver a batch before it is given up. */
export const feedAttemptsMax = 3;
/** Most updates that wait in a process; beyond it new ones are left to the user's record. */
export const feedWaitingMax = 100_000;

/** What a feeder needs. */
export interface ScoreDeliveryOptions {
  readonly store: Store;
  readonly resolveTarget: ResolveTarget;
  /** Told of what was given up. */
  readonly onGivenUp: (error: unknown) => void;
  /** Told how many scores of a target were not ranked, and why. */
  readonly onRefused: (target: string, because: TargetRefusal, count: number) => void;
}

/** Delivers score updates. */
export interface ScoreDelivery {
  /**
   * Takes the updates of one user; `delivered` is called once all of them are on their boards, `givenUp` where they will not
   * be brought there now.
   */
  readonly deliver: ScoreFeed["deliver"];
  /** Resolves when nothing waits any more. */
  idle(): Promise<void>;
}

/** A change of a board, with whom to tell of it. */
interface Waiting extends ScoreEntry {
  readonly location: BoardLocation;
  readonly done: (isDelivered: boolean) => void;
}

/** Creates a feeder over a store. */
export function createScoreDelivery(options: ScoreDeliveryOptions): ScoreDelivery {
  const batches = new Batches<Waiting>({
    countOf: countOfBoard,
    carryOut: async (_, batch) => {
      const isDelivered = await commit(options, batch);
      for (const { done } of batch) done(isDelivered);
    },
  });
  const refused = createRefusals(options.onRefused);
  /** The places found in this turn: users who act in the same one mostly move the same boards. */
  const locations = new Map<string, BoardLocation>();
  let waiting = 0;

  /** Settings that are not valid make it throw at once, which is no other than doing so later. */
  function find(target: string): ReturnType<ResolveTarget> {
    const known = locations.get(target);
    if (known !== undefined) return known;
    try {
      const found = options.resolveTarget(target);
      if (!(found instanceof Promise) && typeof found !== "string") keepForThisTurn(target, found);
      return found;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  function keepForThisTurn(target: string, location: BoardLocation): void {
    if (locations.size === 0) void Promise.resolve().then(() => locations.clear());
    locations.set(target, location);
  }

  function take(found: BoardLocation | TargetRefusal, { userId, update, done }: Arrival): void {
    const { target, score, at, asOf } = update;
    if (typeof found !== "string") {
      const entry: Waiting = { location: found, userId, score, at, asOf, operator: "set", done };
      batches.add(entryPartition(found, userId), entry);
      return;
    }
    refused(target, found);
    done(true);
  }

  async function takeLater(found: Promise<BoardLocation | TargetRefusal>, arrival: Arrival): Promise<void> {
    try {
      take(await found, arrival);
    } catch (error) {
      options.onGivenUp(error);
      arrival.done(false);
    }
  }

  return {
    deliver(userId, updates, delivered, givenUp = doNothing) {
      if (updates.length === 0) return;
      if (waiting + updates.length > feedWaitingMax) return givenUp();
      waiting += updates.length;
      const all = whenAll(updates.length, isDelivered => (isDelivered ? delivered() : givenUp()));
      function done(isDelivered: boolean): void {
        waiting -= 1;
        all(isDelivered);
      }
      for (const update of updates) {
        const found = find(update.target);
        if (found instanceof Promise) batches.start(() => takeLater(found, { userId, update, done }));
        else take(found, { userId, update, done });
      }
    },
    idle: () => batches.idle(),
  };
}

/** A partition may hold more than one board in turn, as settings change: a batch is for one of them. */
function countOfBoard(waiting: readonly Waiting[]): number {
  const first = waiting.slice(0, feedBatchMax);
  const other = first.findIndex(({ location }) => location !== first[0]?.location);
  return other === -1 ? feedBatchMax : other;
}

function doNothing(): void {}

interface Arrival extends Pick<Waiting, "done"> {
  readonly userId: string;
  readonly update: ScoreUpdate;
}

async function commit(
  { store, onGivenUp }: ScoreDeliveryOptions,
  batch: readonly Waiting[],
): Promise<boolean> {
  const [{ location }] = batch as readonly [Waiting, ...Waiting[]];
  for (let attempt = 1; ; attempt++) {
    try {
      await changeScores(store, location, batch);
      return true;
    } catch (error) {
      if (attempt < feedAttemptsMax) continue;
      onGivenUp(error);
      return false;
    }
  }
}

/** Counts the refusals of one turn together: after an outage thousands may come at once. */
function createRefusals(
  onRefused: ScoreDeliveryOptions["onRefused"],
): (target: string, because: TargetRefusal) => void {
  const counts = new Map<string, { readonly because: TargetRefusal; count: number }>();
  function tell(): void {
    for (const [target, { because, count }] of counts) onRefused(target, because, count);
    counts.clear();
  }
  return (target, because) => {
    const { count } = counts.get(target) ?? { count: 0 };
    if (counts.size === 0) void Promise.resolve().then(tell);
    counts.set(target, { because, count: count + 1 });
  };
}
