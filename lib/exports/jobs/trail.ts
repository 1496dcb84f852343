/**
 * The trail of exports: who asked for what, what came of it, and who fetched it. No entry holds links or passwords.
 *
 * Entries are written in the same commit as what they tell of, so that nothing happens without one.
 *
 * @module
 */

import { AppError, type ErrorCode } from "../../errors/mod.ts";
import type { Append, Store } from "../../storage/mod.ts";
import { exportKeys, exportsPartition } from "./partitions.ts";

/** Most entries of an organisation's trail; the oldest are dropped. */
export const trailEntriesMax = 10_000;
/** Entries of a page that asks for no other number. */
export const trailPageDefault = 50;
/** Most entries of a page. */
export const trailPageMax = 100;
/** How much of a client's address the trail keeps, in bits. */
export const trailNetworkBits = { ipv4: 24, ipv6: 64 } as const;

/** Something that happened to an export. */
export interface TrailEntry {
  /** Unix ms. */
  readonly at: number;
  readonly event: "requested" | "completed" | "failed" | "downloaded" | "expired" | "removed";
  readonly exportId: string;
  /** The API key that asked for it. */
  readonly actor?: string;
  readonly requestId?: string;
  /** The network of the client that fetched it. */
  readonly addressTag?: string;
  /** The bytes that it asked for, `first-last`. */
  readonly range?: string;
  readonly format?: string;
  readonly encrypted?: boolean;
  readonly rowCount?: number;
  /** Why it failed. */
  readonly reason?: ErrorCode;
}

/** A part of the trail, newest first. */
export interface TrailPage {
  readonly entries: readonly TrailEntry[];
  /** Where the next page begins; null where nothing is left. */
  readonly cursor: string | null;
}

/** The write of an entry. */
export function appendEntry(entry: TrailEntry): Append {
  const { trail } = exportKeys;
  return {
    type: "append",
    key: trail,
    value: JSON.stringify(entry),
    at: entry.at,
    maxLength: trailEntriesMax,
  };
}

/**
 * A page of an organisation's trail.
 *
 * @throws {AppError} `validation_failed`: the cursor is of no page.
 */
export async function readTrail(
  store: Store,
  organisationId: string,
  { limit = trailPageDefault, cursor }: { readonly limit?: number; readonly cursor?: string | undefined },
): Promise<TrailPage> {
  if (cursor !== undefined && !/^\d{1,15}-\d{1,15}$/.test(cursor)) {
    throw new AppError("validation_failed", "Cannot read the trail from there", {
      fields: [{ pointer: "lastEvaluatedKey", detail: "Expected the lastEvaluatedKey of a page" }],
    });
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
