/**
 * Once marks: fields of a tally that say that something has taken effect. They are nearly always absent when a decision
 * looks for them.
 *
 * @module
 */
import type { FieldCheck, Read, ReadTally } from "./contract.ts";

/** A query for one field that a decision expects to be absent. */
export interface OnceMarkRead extends ReadTally {
  readonly field: string;
}

/**
 * Reads a once mark; the result is that of reading the field from its tally. If the field is absent, the commit checks
 * that it still is. A rule that reads only cached records and once marks is therefore decided without a read, as if the
 * marks were absent. It is decided again from the store if they are not.
 */
export function onceMark(key: string, field: string): ReadTally {
  const query: OnceMarkRead = { type: "tally", key, fields: [field], field };
  return query;
}

/** Returns true for queries made by {@linkcode onceMark}. */
export function isOnceMarkRead(query: Read): query is OnceMarkRead {
  return query.type === "tally" && "field" in query;
}

/** Result of a query for a mark that is absent. */
export const noMarks: ReadonlyMap<string, number> = new Map();

/** Returns the check of a mark in a commit, or null if the mark was there. */
export function absenceCheck({ key, field }: OnceMarkRead, read: unknown): FieldCheck | null {
  return (read as ReadonlyMap<string, number>).has(field) ? null : { key, absent: field };
}
