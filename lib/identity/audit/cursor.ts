/** Places in a trail, as clients carry them from page to page. */

import * as v from "valibot";
import { AppError } from "../../errors/mod.ts";

/** The shape of a cursor: the id of an entry, and which log it is of. */
const cursorShape = /^([1-9]\d{0,13})-(\d{1,15})\.(\d{1,2})$/;

/** Checks a cursor. */
export const AuditCursorSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.regex(cursorShape, "Expected the cursor of a page"),
);

/** Where an entry stands. */
export interface Place {
  /** Unix ms. */
  readonly at: number;
  /** Which one of its log. */
  readonly sequence: number;
  /** Which log it is of. */
  readonly log: number;
}

/** The cursor of the page after a place. */
export function cursorOf({ at, sequence, log }: Place): string {
  return `${at}-${sequence}.${log}`;
}

/**
 * The place that a cursor names.
 *
 * @throws {AppError} `validation_failed`: it is of no page.
 */
export function placeOf(cursor: string): Place {
  const [, at, sequence, log] = cursorShape.exec(cursor) ?? [];
  if (at === undefined || sequence === undefined || log === undefined) {
    throw new AppError(
      "validation_failed",
      "Cannot read the trail from there as the cursor is not of a page",
    );
  }
  return { at: Number(at), sequence: Number(sequence), log: Number(log) };
}
