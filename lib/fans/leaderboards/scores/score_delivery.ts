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

import { Delivery, mapConcurrent } from "../../../storage/background/mod.ts";
import { followRecord, type Store } from "../../../storage/mod.ts";
import type { ScoreChange } from "./board_change.ts";
import { type BoardLocation, isWithinBounds } from "./board_location.ts";
import { changeScores } from "./change_scores.ts";
import type { RecordedScore, ScoreUpdate } from "./score_feed.ts";
import type { ResolveTarget, TargetRefusal } from "./score_targets.ts";

/** Users whose records are read at a time, where their entries have other scores than those delivered. */
const concurrency = 16;

export interface ScoreDeliveryOptions {
  readonly store: Store;
  readonly resolveTarget: ResolveTarget;
  /** Reads the score that a user's record has now for a target; null where it says nothing of it. */
  readonly readScore: (target: string, userId: string) => Promise<RecordedScore | null>;
  /** Called with the error of updates that are left to a later delivery. */
  readonly onGivenUp: (error: unknown) => void;
  /** Called with the number of scores of a target that are not ranked. */
  readonly onRefused: (target: string, because: TargetRefusal, count: number) => void;
  /** Begins to time a delivery; the function that it returns ends that. */
  readonly startTiming?: (() => (isDelivered: boolean) => void) | undefined;
  /** Most updates that wait in a process; more are given up at once. @default 100,000 */
  readonly waitingMax?: number;
}

/** Delivers score updates to their boards, many at a time. */
export class ScoreDelivery {
  readonly #options: ScoreDeliveryOptions;
  /** By target, whose settings are looked up once for each batch. */
  readonly #delivery: Delivery<ScoreChange>;

  constructor(options: ScoreDeliveryOptions) {
    const { onGivenUp, waitingMax } = options;
    this.#options = options;
    this.#delivery = new Delivery({
      write: (target, batch) => write(options, target, batch),
      ...{ onGivenUp, waitingMax },
    });
  }

  /** Delivers the updates of one user; calls `done` when all of them are applied, or left to a later delivery. */
  deliver(userId: string, updates: readonly ScoreUpdate[], done: (isDelivered: boolean) => void): void {
    const end = this.#options.startTiming?.();
    this.#delivery.deliver(
      updates.map(({ target, score, at, asOf }) => [target, { userId, score, at, asOf, operator: "set" }]),
      end === undefined
        ? done
        : isDelivered => {
            end(isDelivered);
            done(isDelivered);
          },
    );
  }

  /** Resolves when no update waits any more. */
  idle(): Promise<void> {
    return this.#delivery.idle();
  }
}

async function write(
  options: ScoreDeliveryOptions,
  target: string,
  batch: readonly ScoreChange[],
): Promise<void> {
  const { store, resolveTarget, onRefused } = options;
  const location = await resolveTarget(target);
  if (typeof location === "string") {
    onRefused(target, location, batch.length);
    return;
  }
  const shown = await changeScores(store, location, batch);
  const others = otherEntries(batch, shown);
  if (others.length > 0) await followRecords(options, { target, location }, others);
}

interface ShownEntry {
  readonly userId: string;
  readonly score: number;
}

/** Lists the entries that have another score than the one delivered, as the board has seen a later revision of the user. */
function otherEntries(
  batch: readonly ScoreChange[],
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
