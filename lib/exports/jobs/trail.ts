/**
 * The audit trail of exports: requests, results and downloads, without links and passwords. Entries are written in the commit
 * of the change they record.
 *
 * @module
 */

import { AppError, type ErrorCode } from "../../errors/mod.ts";
import type { Store, Write } from "../../storage/mod.ts";
import { exportKeys, exportsPartition } from "./partitions.ts";

/** Most entries of an organisation's trail; the oldest are dropped. */
const trailEntriesMax = 10_000;
const pageDefault = 50;

/** An event in the life of an export. */
export interface TrailEntry {
  /** Unix ms. */
  readonly at: number;
  readonly event: "requested" | "completed" | "failed" | "downloaded" | "expired" | "removed";
  readonly exportId: string;
  /** The API key that requested it. */
  readonly actor?: string;
  readonly requestId?: string;
  /** The network of the client that downloaded it. */
  readonly addressTag?: string;
  /** The requested bytes, `first-last`. */
  readonly range?: string;
  readonly format?: string;
  readonly encrypted?: boolean;
  readonly rowCount?: number;
  /** The code of a failure. */
  readonly reason?: ErrorCode;
}

/** A page of the trail, newest first. */
export interface TrailPage {
  readonly entries: readonly TrailEntry[];
  /** Cursor of the next page; null at the end. */
  readonly cursor: string | null;
}

/** A request for a page. */
export interface PageRequest {
  readonly limit?: number | undefined;
  /** The cursor of the page before. */
  readonly cursor?: string | undefined;
}

/** Returns the write of an entry. */
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
