/** Positions in a walk over users, as text that outlives the process. */

import { type AppError, invalidField } from "../../../base/errors/mod.ts";
import { parsedJson } from "../../../base/json/mod.ts";
import type { BoardEntry } from "../../../storage/mod.ts";

export type SearchPosition =
  /** After an entry of a shard's users by creation; null: at the beginning of the shard. */
  | { readonly walk: "all"; readonly shard: number; readonly after: BoardEntry | null }
  /** After a user among those of an index range in a shard. */
  | { readonly walk: "range"; readonly column: string; readonly shard: number; readonly after: string }
  /** After a user among the named ones. */
  | { readonly walk: "named"; readonly after: string }
  /** After an entry of an order; entries that moved after the instant `at` (Unix ms) are skipped. */
  | { readonly walk: "order"; readonly at: number; readonly after: BoardEntry | null }
  /** Among the users without an entry in the order. */
  | {
      readonly walk: "rest";
      readonly at: number;
      readonly shard: number;
      readonly after: BoardEntry | null;
    };

export type PositionIn<W extends SearchPosition["walk"]> = Extract<SearchPosition, { readonly walk: W }>;

export function printPosition(position: SearchPosition): string {
  switch (position.walk) {
    case "all":
      return JSON.stringify(["all", position.shard, ...printEntry(position.after)]);
    case "range":
      return JSON.stringify(["range", position.column, position.shard, position.after]);
    case "named":
      return JSON.stringify(["named", position.after]);
    case "order":
      return JSON.stringify(["order", position.at, ...printEntry(position.after)]);
    case "rest":
      return JSON.stringify(["rest", position.at, position.shard, ...printEntry(position.after)]);
  }
}

/**
 * Parses the text of a position.
 *
 * @throws {AppError} `validation_failed`: the text is not a position.
 */
export function parsePosition(text: string): SearchPosition {
  const parsed = parsedJson(text);
  const [walk, ...parts]: readonly unknown[] = Array.isArray(parsed) ? parsed : [];
  const [first, second, ...more] = parts;
  if (walk === "all" && isNumber(first)) return { walk, shard: first, after: parseEntry(parts.slice(1)) };
  if (walk === "range" && isText(first) && isNumber(second) && isText(more[0])) {
    return { walk, column: first, shard: second, after: more[0] };
  }
  if (walk === "named" && isText(first)) return { walk, after: first };
  if (walk === "order" && isNumber(first)) return { walk, at: first, after: parseEntry(parts.slice(1)) };
  if (walk === "rest" && isNumber(first) && isNumber(second)) {
    return { walk, at: first, shard: second, after: parseEntry(more) };
  }
  throw invalidSearchCursor();
}

export function invalidSearchCursor(): AppError {
  const message = "Cannot continue the search as its cursor is not valid";
  return invalidField(message, "cursor", "Expected the cursor of a page of this search");
}

function printEntry(entry: BoardEntry | null): readonly (string | number)[] {
  return entry === null ? [] : [entry.score, entry.tie, entry.member];
}

function parseEntry(parts: readonly unknown[]): BoardEntry | null {
  if (parts.length === 0) return null;
  const [score, tie, member] = parts;
  if (isNumber(score) && isNumber(tie) && isText(member)) return { score, tie, member };
  throw invalidSearchCursor();
}

function isText(part: unknown): part is string {
  return typeof part === "string";
}

function isNumber(part: unknown): part is number {
  return Number.isFinite(part);
}
