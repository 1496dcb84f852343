/**
 * Places in a walk over users, as texts that outlive the process.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { BoardEntry } from "../../storage/mod.ts";

/** Where a walk goes on. */
export type Place =
  /** After an entry of the users of a shard by creation; null: at the beginning of the shard. */
  | { readonly walk: "all"; readonly shard: number; readonly after: BoardEntry | null }
  /** After a user among those of a range in a shard. */
  | { readonly walk: "range"; readonly column: string; readonly shard: number; readonly after: string }
  /** After a user among those that are named. */
  | { readonly walk: "named"; readonly after: string }
  /** After an entry of an order; entries that moved after the instant `at` (Unix ms) are left out. */
  | { readonly walk: "order"; readonly at: number; readonly after: BoardEntry | null }
  /** Among the users that the order does not have. */
  | {
      readonly walk: "rest";
      readonly at: number;
      readonly shard: number;
      readonly after: BoardEntry | null;
    };

type Parts = readonly (string | number)[];

/** The text of a place. */
export function printPlace(place: Place): string {
  switch (place.walk) {
    case "all":
      return JSON.stringify(["all", place.shard, ...entryParts(place.after)]);
    case "range":
      return JSON.stringify(["range", place.column, place.shard, place.after]);
    case "named":
      return JSON.stringify(["named", place.after]);
    case "order":
      return JSON.stringify(["order", place.at, ...entryParts(place.after)]);
    case "rest":
      return JSON.stringify(["rest", place.at, place.shard, ...entryParts(place.after)]);
  }
}

/**
 * The place of a text.
 *
 * @throws {AppError} `validation_failed`: the text is none.
 */
export function parsePlace(text: string): Place {
  const [walk, ...parts] = partsOf(text);
  const [first, second, ...more] = parts;
  if (walk === "all" && isNumber(first)) return { walk, shard: first, after: entryOf(parts.slice(1)) };
  if (walk === "range" && isText(first) && isNumber(second) && isText(more[0])) {
    return { walk, column: first, shard: second, after: more[0] };
  }
  if (walk === "named" && isText(first)) return { walk, after: first };
  if (walk === "order" && isNumber(first)) return { walk, at: first, after: entryOf(parts.slice(1)) };
  if (walk === "rest" && isNumber(first) && isNumber(second)) {
    return { walk, at: first, shard: second, after: entryOf(more) };
  }
  throw invalid();
}

function entryParts(entry: BoardEntry | null): Parts {
  return entry === null ? [] : [entry.score, entry.tie, entry.member];
}

function entryOf(parts: readonly unknown[]): BoardEntry | null {
  if (parts.length === 0) return null;
  const [score, tie, member] = parts;
  if (isNumber(score) && isNumber(tie) && isText(member)) return { score, tie, member };
  throw invalid();
}

function partsOf(text: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

function isText(part: unknown): part is string {
  return typeof part === "string";
}

function isNumber(part: unknown): part is number {
  return typeof part === "number";
}

function invalid(): AppError {
  return new AppError("validation_failed", "Cannot go on with the walk as its cursor is not valid", {
    fields: [{ pointer: "cursor", detail: "Expected the cursor of a page of this walk" }],
  });
}
