/** Changes of the scores of a board. */

import { AppError } from "../../../base/errors/mod.ts";
import type { Partition } from "../../../storage/mod.ts";
import type { BoardOperator } from "../settings/board_settings.ts";
import type { BoardLocation } from "./board_location.ts";

/** Gives a user a score. */
export interface ScoreChange {
  readonly userId: string;
  readonly score: number;
  /** When the score was reached, Unix ms; orders equal scores. */
  readonly at: number;
  readonly operator: BoardOperator;
  /**
   * The revision of the user's state that the score belongs to. An older or equal one changes nothing.
   * @default the time of the score for `latest`; otherwise the score always counts
   */
  readonly asOf?: number;
}

/** One change of a board: a score, or the removal of an entry. */
export type BoardChange = ScoreChange | { readonly userId: string; readonly operator: "remove" };

/** Changes within one shard. */
export interface ShardChanges {
  readonly location: BoardLocation;
  readonly partition: Partition;
  readonly changes: readonly BoardChange[];
}

/** Creates the error for a sum beyond the numbers that scores can be. */
export function sumOutOfRange(): AppError {
  return new AppError("conflict", "Cannot add to the score as the sum would lie beyond ±9007199254740991");
}
