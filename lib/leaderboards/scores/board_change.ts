/** What is to change on a board. */

import { AppError } from "../../errors/mod.ts";
import type { Partition } from "../../storage/mod.ts";
import type { BoardOperator } from "../settings/board_settings.ts";
import type { BoardLocation } from "./board_location.ts";

/** A score of a user. */
export interface ScoreEntry {
  readonly userId: string;
  readonly score: number;
  /** When it was reached, Unix ms; orders equal scores. */
  readonly at: number;
  readonly operator: BoardOperator;
  /**
   * The revision of the user's state that the score belongs to. One that is not newer than what the board knows of the user
   * changes nothing. @default with the operator `latest` the time of the score, otherwise the score always counts
   */
  readonly asOf?: number;
}

/** The end of a user's entry, and of all that the board knows of the user. */
export interface EntryRemoval {
  readonly userId: string;
  readonly operator: "remove";
}

/** One change of a board. */
export type BoardChange = ScoreEntry | EntryRemoval;

/** Changes of one shard. */
export interface ShardChanges {
  readonly location: BoardLocation;
  readonly partition: Partition;
  readonly changes: readonly BoardChange[];
}

/** The error of a sum that leaves the numbers. */
export function notFinite(): AppError {
  return new AppError("conflict", "Cannot add to the score as the sum would not be a finite number");
}
