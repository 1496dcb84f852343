/**
 * Delivers score updates to their boards in the background.
 *
 * Updates wait per partition. While a commit is running more arrive, and all of them join the next one: a busy board
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
import type { ScoreUpdate } from "./score_feed.ts";
import type { ResolveTarget, TargetRefusal } from "./score_targets.ts";

const batchMax = 500;
const attemptsMax = 3;

/** Dependencies of a delivery. */
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

/** Delivers score updates to their boards, many at a time. */
export class ScoreDelivery {
  readonly #options: ScoreDeliveryOptions;
  readonly #refused: (target: string, because: TargetRefusal) => void;
  readonly #batches: Batcher<WaitingScore>;
  /** Updates whose settings are being read. */
  readonly #resolving = new Set<Promise<void>>();
  #waiting = 0;

  constructor(options: ScoreDeliveryOptions) {
    this.#options = options;
    this.#refused = createRefusalCounter(options.onRefused);
    this.#batches = new Batcher<WaitingScore>({
      batchMax,
      countOf: countOfOneBoard,
      async run(_, batch) {
        const isDelivered = await write(options, batch);
        for (const { done } of batch) done(isDelivered);
      },
    });
  }

  /** Delivers the updates of one user; see `ScoreFeed.deliver`. */
  deliver(
    userId: string,
    updates: readonly ScoreUpdate[],
    delivered: () => void,
    givenUp: () => void = () => {},
  ): void {
    if (updates.length === 0) return;
    const { waitingMax = 100_000 } = this.#options;
    if (this.#waiting + updates.length > waitingMax) {
      givenUp();
      return;
    }
    this.#waiting += updates.length;
    let open = updates.length;
    let areDelivered = true;
    const done = (isDelivered: boolean): void => {
      this.#waiting -= 1;
      open -= 1;
      areDelivered &&= isDelivered;
      if (open > 0) return;
      if (areDelivered) delivered();
      else givenUp();
    };
    for (const update of updates) this.#resolve(update, userId, done);
  }

  /** Resolves when no update waits any more. */
  async idle(): Promise<void> {
    while (this.#waiting > 0) {
      await Promise.all(this.#resolving);
      await this.#batches.idle();
    }
  }

  /** Makes no closure while the settings of the board are cached: this runs for each board of each action. */
  #resolve(update: ScoreUpdate, userId: string, done: WaitingScore["done"]): void {
    try {
      const found = this.#options.resolveTarget(update.target);
      if (found instanceof Promise) this.#enqueueLater(found, update, userId, done);
      else this.#enqueue(found, update, userId, done);
    } catch (error) {
      // Invalid settings, for example.
      this.#fail(error, done);
    }
  }

  #enqueueLater(
    location: Promise<BoardLocation | TargetRefusal>,
    update: ScoreUpdate,
    userId: string,
    done: WaitingScore["done"],
  ): void {
    const resolved = location
      .then(found => this.#enqueue(found, update, userId, done))
      .catch(error => this.#fail(error, done))
      .finally(() => this.#resolving.delete(resolved));
    this.#resolving.add(resolved);
  }

  #fail(error: unknown, done: WaitingScore["done"]): void {
    this.#options.onGivenUp(error);
    done(false);
  }

  #enqueue(
    location: BoardLocation | TargetRefusal,
    { target, score, at, asOf }: ScoreUpdate,
    userId: string,
    done: WaitingScore["done"],
  ): void {
    if (typeof location === "string") {
      this.#refused(target, location);
      done(true);
      return;
    }
    // Spreading the update instead costs 7 % of reporting an action.
    this.#batches.push(entryPartition(location, userId), {
      location,
      userId,
      score,
      at,
      asOf,
      operator: "set",
      done,
    });
  }
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
