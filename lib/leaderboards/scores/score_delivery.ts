/**
 * Delivers score updates to their boards in the background.
 *
 * Updates wait per partition. While a commit is under way more arrive, and all of them join the next one: a busy board
 * costs one commit per round trip, however many users change it. An update says "this score as of that revision", so that
 * late or repeated delivery changes nothing. Updates that fail stay in the user's own record, from which they are delivered
 * when that user is next loaded.
 *
 * @module
 */

import { Batcher } from "../../background/mod.ts";
import type { Store } from "../../storage/mod.ts";
import type { ScoreChange } from "./board_change.ts";
import { type BoardLocation, entryPartition } from "./board_location.ts";
import { changeScores } from "./change_scores.ts";
import type { ResolveTarget, TargetRefusal } from "./resolve_target.ts";
import type { ScoreUpdate } from "./score_feed.ts";

const batchMax = 500;
const attemptsMax = 3;

/** What delivering scores needs. */
export interface ScoreDeliveryOptions {
  readonly store: Store;
  readonly resolveTarget: ResolveTarget;
  /** Called with the error of updates that are left to a later delivery. */
  readonly onGivenUp: (error: unknown) => void;
  /** Called with the number of scores of a target that are not ranked. */
  readonly onRefused: (target: string, because: TargetRefusal, count: number) => void;
  /** Most updates that wait in a process; more are given up at once. @default 100,000 */
  readonly waitingMax?: number;
}

interface WaitingScore extends ScoreChange {
  readonly location: BoardLocation;
  readonly done: (isDelivered: boolean) => void;
}

/** The delivery of scores. */
export type ScoreDelivery = ReturnType<typeof createScoreDelivery>;

/** Creates the delivery of scores over a store. */
export function createScoreDelivery(options: ScoreDeliveryOptions) {
  const { resolveTarget, onGivenUp, waitingMax = 100_000 } = options;
  const refused = createRefusalCounter(options.onRefused);
  const batches = new Batcher<WaitingScore>({
    batchMax,
    countOf: countOfOneBoard,
    async run(_, batch) {
      const isDelivered = await write(options, batch);
      for (const { done } of batch) done(isDelivered);
    },
  });
  /** Updates whose settings are being read. */
  const resolving = new Set<Promise<void>>();
  let waiting = 0;

  function enqueue(
    found: BoardLocation | TargetRefusal,
    { target, ...change }: ScoreUpdate & Pick<WaitingScore, "userId" | "done">,
  ): void {
    if (typeof found !== "string") {
      batches.push(entryPartition(found, change.userId), { ...change, location: found, operator: "set" });
      return;
    }
    refused(target, found);
    change.done(true);
  }

  return {
    /** As {@linkcode ScoreFeed.deliver}. */
    deliver(
      userId: string,
      updates: readonly ScoreUpdate[],
      delivered: () => void,
      givenUp: () => void = () => {},
    ): void {
      if (updates.length === 0) return;
      if (waiting + updates.length > waitingMax) {
        givenUp();
        return;
      }
      waiting += updates.length;
      let open = updates.length;
      let areDelivered = true;
      function done(isDelivered: boolean): void {
        waiting -= 1;
        open -= 1;
        areDelivered &&= isDelivered;
        if (open > 0) return;
        if (areDelivered) delivered();
        else givenUp();
      }
      function failed(error: unknown): void {
        onGivenUp(error);
        done(false);
      }
      for (const update of updates) {
        try {
          const found = resolveTarget(update.target);
          if (found instanceof Promise) {
            const resolved = found
              .then(location => enqueue(location, { ...update, userId, done }))
              .catch(failed)
              .finally(() => resolving.delete(resolved));
            resolving.add(resolved);
          } else enqueue(found, { ...update, userId, done });
        } catch (error) {
          // Invalid settings, for example.
          failed(error);
        }
      }
    },
    /** Resolves when no update waits any more. */
    async idle(): Promise<void> {
      while (waiting > 0) {
        await Promise.all(resolving);
        await batches.idle();
      }
    },
  };
}

async function write(
  { store, onGivenUp }: ScoreDeliveryOptions,
  batch: readonly WaitingScore[],
): Promise<boolean> {
  const [{ location }] = batch as readonly [WaitingScore, ...WaitingScore[]];
  for (let attempt = 1; ; attempt++) {
    try {
      await changeScores(store, location, batch);
      return true;
    } catch (error) {
      if (attempt < attemptsMax) continue;
      onGivenUp(error);
      return false;
    }
  }
}

/** A partition may hold different boards in turn, as settings change: a batch is for one of them. */
function countOfOneBoard(waiting: readonly WaitingScore[]): number {
  const other = waiting.findIndex(({ location }) => location !== waiting[0]?.location);
  return other === -1 ? waiting.length : other;
}

/** Reports the refusals of one turn of the event loop together: after an outage thousands may come at once. */
function createRefusalCounter(
  onRefused: ScoreDeliveryOptions["onRefused"],
): (target: string, because: TargetRefusal) => void {
  const counts = new Map<string, { readonly because: TargetRefusal; count: number }>();
  function report(): void {
    for (const [target, { because, count }] of counts) onRefused(target, because, count);
    counts.clear();
  }
  return (target, because) => {
    const { count } = counts.get(target) ?? { count: 0 };
    if (counts.size === 0) queueMicrotask(report);
    counts.set(target, { because, count: count + 1 });
  };
}
