/**
 * Fields that mark what has happened once: they are nearly always absent when they are looked for.
 *
 * @module
 */
import type { FieldCheck, Read, ReadTally } from "./contract.ts";

/** A query for one field that a decision expects to be absent. */
export interface OnceMarkRead extends ReadTally {
  readonly field: string;
}

/**
 * Reads a field by which a rule of `decide` tells whether it has taken effect before; the result is that of reading it from
 * its tally. Where the field is absent the commit checks that it still is. So a rule that else reads remembered records
 * alone is decided without reading, as if the field were absent, and from what the store says where it is not.
 */
export function onceMark(key: string, field: string): ReadTally {
  const query: OnceMarkRead = { type: "tally", key, fields: [field], field };
  return query;
}

/** Whether a query is one of {@linkcode onceMark}. */
export function isOnceMarkRead(query: Read): query is OnceMarkRead {
  return query.type === "tally" && "field" in query;
}

/** The result of a query for a field that is absent. */
export const noMarks: ReadonlyMap<string, number> = new Map();

/** What a commit must check of a field; null where it was there. */
export function absenceCheck({ key, field }: OnceMarkRead, read: unknown): FieldCheck | null {
  return (read as ReadonlyMap<string, number>).has(field) ? null : { key, absent: field };
}
