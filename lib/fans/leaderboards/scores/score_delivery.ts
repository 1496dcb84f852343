/**
 * Delivers score updates to their boards in the background.
 *
 * Updates wait per target. While a commit is running more arrive, and all of them join the next one: a busy board costs one
 * commit of each shard per round trip, however many users change it. An update says "this score as of that revision", so
 * that late or repeated delivery changes nothing. Updates that fail stay in the user's own record, from which they are
 * delivered when that user is next loaded.
 *
 * @module
 */

import { Batcher, mapConcurrent } from "../../../storage/background/mod.ts";
import { followRecord, type Store } from "../../../storage/mod.ts";
import type { ScoreChange } from "./board_change.ts";
import { type BoardLocation, isWithinBounds } from "./board_location.ts";
import { changeScores } from "./change_scores.ts";
import type { RecordedScore, ScoreUpdate } from "./score_feed.ts";
import type { ResolveTarget, TargetRefusal } from "./score_targets.ts";

const attemptsMax = 3;
/** Users whose records are read at a time, where their entries have other scores than those delivered. */
const concurrency = 16;

/** Dependencies of a delivery. */
export interface ScoreDeliveryOptions {
  readonly store: Store;
  readonly resolveTarget: ResolveTarget;
  /** Reads the score that a user's record has now for a target; null where it says nothing of it. */
  readonly readScore: (target: string, userId: string) => Promise<RecordedScore | null>;
  /** Called with the error of updates that are left to a later delivery. */
  readonly onGivenUp: (error: unknown) => void;
  /** Called with the number of scores of a target that are not ranked. */
  readonly onRefused: (target: string, because: TargetRefusal, count: number) => void;
  /** Most updates that wait in a process; more are given up at once. @default 100,000 */
  readonly waitingMax?: number;
}

interface WaitingScore extends ScoreChange {
  readonly done: (isDelivered: boolean) => void;
}

/** Delivers score updates to their boards, many at a time. */
export class ScoreDelivery {
  readonly #options: ScoreDeliveryOptions;
  /** By target, whose settings are looked up once for each batch. */
  readonly #batches: Batcher<WaitingScore>;
  #waiting = 0;

  constructor(options: ScoreDeliveryOptions) {
    this.#options = options;
    this.#batches = new Batcher<WaitingScore>({
      async run(target, batch) {
        const isDelivered = await write(options, target, batch);
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
    for (const { target, score, at, asOf } of updates) {
      // Spreading the update instead costs 7 % of reporting an action.
      this.#batches.push(target, { userId, score, at, asOf, operator: "set", done });
    }
  }

  /** Resolves when no update waits any more. */
  async idle(): Promise<void> {
    while (this.#waiting > 0) await this.#batches.idle();
  }
}

/** Writes the updates of a target. Returns false if they are left to a later delivery. */
async function write(
  options: ScoreDeliveryOptions,
  target: string,
  batch: readonly WaitingScore[],
): Promise<boolean> {
  const { store, resolveTarget, onGivenUp, onRefused } = options;
  try {
    const location = await resolveTarget(target);
    if (typeof location === "string") {
      onRefused(target, location, batch.length);
      return true;
    }
    await retry(async () => {
      const shown = await changeScores(store, location, batch);
      const others = otherEntries(batch, shown);
      if (others.length > 0) await followRecords(options, { target, location }, others);
    });
    return true;
  } catch (error) {
    // Of the store, or of invalid settings.
    onGivenUp(error);
    return false;
  }
}

interface ShownEntry {
  readonly userId: string;
  readonly score: number;
}

/** Lists the entries that have another score than the one delivered, as the board has seen a later revision of the user. */
function otherEntries(
  batch: readonly WaitingScore[],
  shown: readonly (number | null)[],
): readonly ShownEntry[] {
  const others: ShownEntry[] = [];
  for (const [index, { userId, score }] of batch.entries()) {
    const entry = shown[index] ?? null;
    if (entry !== null && entry !== score) others.push({ userId, score: entry });
  }
  return others;
}

/** Gives entries the scores of their users' records. */
async function followRecords(
  { store, readScore }: ScoreDeliveryOptions,
  { target, location }: { readonly target: string; readonly location: BoardLocation },
  entries: readonly ShownEntry[],
): Promise<void> {
  await mapConcurrent(entries, concurrency, ({ userId, score: shown }) =>
    followRecord<RecordedScore>({
      shown,
      async read() {
        const recorded = await readScore(target, userId);
        return recorded === null || isWithinBounds(location, recorded.score) ? recorded : null;
      },
      async overwrite(recorded) {
        const [, score = null] = await changeScores(store, location, [
          { userId, operator: "remove" },
          { userId, operator: "set", ...recorded },
        ]);
        return score;
      },
    }),
  );
}

async function retry(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (attempt >= attemptsMax) throw error;
    }
  }
}
