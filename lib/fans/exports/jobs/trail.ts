/**
 * The audit trail of exports: requests, results and downloads, without links and passwords. Entries are written in the commit
 * of the change they record.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../../base/errors/mod.ts";
import { type Immutable, named } from "../../../http/mod.ts";
import type { Store, Write } from "../../../storage/mod.ts";
import { exportKeys, exportsPartition } from "./partitions.ts";

/** Most entries of an organisation's trail; the oldest are dropped. */
const trailEntriesMax = 10_000;
const pageDefault = 50;

const optionalText = (description: string) => v.exactOptional(v.pipe(v.string(), v.description(description)));

/** An event in the life of an export, as clients see it. */
export const TrailEntrySchema = named(
  "ExportTrailEntry",
  v.object({
    at: v.pipe(v.string(), v.isoTimestamp()),
    event: v.picklist(["requested", "completed", "failed", "downloaded", "expired", "removed"]),
    exportId: v.string(),
    actor: optionalText("API key that requested the export"),
    requestId: v.exactOptional(v.string()),
    addressTag: optionalText("Network of the client that downloaded it"),
    range: optionalText("Requested bytes, `first-last`"),
    format: v.exactOptional(v.string()),
    encrypted: v.exactOptional(v.boolean()),
    rowCount: v.exactOptional(v.pipe(v.number(), v.integer())),
    reason: optionalText("Error code of a failure"),
  }),
);

/** An event in the life of an export. Its time is Unix ms. */
export type TrailEntry = Immutable<
  Omit<v.InferOutput<typeof TrailEntrySchema>, "at"> & { readonly at: number }
>;

/** A page of the trail, newest first. */
export interface TrailPage {
  readonly entries: readonly TrailEntry[];
  /** Cursor of the next page; null at the end. */
  readonly cursor: string | null;
}

export interface PageRequest {
  readonly limit?: number | undefined;
  /** The cursor of the page before. */
  readonly cursor?: string | undefined;
}

export function appendEntry(entry: TrailEntry): Write {
  const { trail } = exportKeys;
  return {
    type: "append",
    key: trail,
    value: JSON.stringify(entry),
    at: entry.at,
    maxLength: trailEntriesMax,
  };
}

/** Reads a page of an organisation's trail. @throws {AppError} `validation_failed`: the cursor is of no page. */
export async function readTrail(
  store: Store,
  organisationId: string,
  { limit = pageDefault, cursor }: PageRequest,
): Promise<TrailPage> {
  if (cursor !== undefined && !/^\d{1,15}-\d{1,15}$/.test(cursor)) {
    throw invalidCursor("Cannot read the trail from there");
  }
  const [found] = await store.read(exportsPartition(organisationId), [
    {
      type: "log",
      key: exportKeys.trail,
      limit: limit + 1,
      reverse: true,
      ...(cursor === undefined ? {} : { cursor }),
    },
  ]);
  const page = found.slice(0, limit);
  return {
    entries: page.map(({ value }) => JSON.parse(value) as TrailEntry),
    cursor: found.length > limit ? (page.at(-1)?.id ?? null) : null,
  };
}

/** Creates the error about a cursor that is of no page. */
export function invalidCursor(message: string): AppError {
  return new AppError("validation_failed", message, {
    fields: [{ pointer: "lastEvaluatedKey", detail: "Expected the lastEvaluatedKey of a page" }],
  });
}
