/**
 * The contents of an event: which elements it has, in which order. It guards them: an element that is not listed does not exist, and
 * every change of one counts its revision up.
 */

import type { EventPhase } from "../../fans/directory/event_times.ts";

/** An element as its event lists it. */
export interface ContentsEntry {
  readonly id: string;
  /** The wrapper that shows it. */
  readonly parent?: string;
  /** When producers published it, in Unix seconds. */
  readonly at?: number;
  /** The revision that published it, which orders what was published in one second. */
  readonly nth?: number;
  /** Seconds after the begin of the event at which the clock publishes it. */
  readonly offset?: number;
  readonly isRevoked?: true;
}

export interface Contents {
  readonly rev: number;
  /** In order. */
  readonly elements: readonly ContentsEntry[];
}

export const elementsMax = 1_000;

export const noContents: Contents = { rev: 0, elements: [] };

export function contentsKey(eventId: string): string {
  return `contents:${eventId}`;
}

export function elementKey(id: string): string {
  return `element:${id}`;
}

/** The key of the tally that counts the actions which named an event or element. */
export function statsKey(id: string): string {
  return `stats:${id}`;
}

/** The key of the log of texts that fans sent to an element. */
export function answersKey(id: string): string {
  return `answers:${id}`;
}

export function assetKey(id: string): string {
  return `asset:${id}`;
}

/** The key of the note that a space has the file with a digest. */
export function digestKey(digest: string): string {
  return `sha:${digest}`;
}

/** Returns the public address of the file of an asset. */
export function assetUrl(
  publicUrl: string,
  spaceId: string,
  { name, sha256 }: Readonly<Record<string, unknown>>,
): string {
  return `${publicUrl}/assets/${spaceId}/${sha256}/${encodeURIComponent(String(name))}`;
}

/** Counts the elements of an event in a phase. Revoked and cancelled ones are counted in `all` alone. */
export function elementCounts({ elements }: Contents, { begin, end, state, at: now }: EventPhase) {
  const counts = { all: elements.length, drafts: 0, scheduled: 0, published: 0 };
  for (const { at, offset, isRevoked } of elements) {
    if (isRevoked) continue;
    const planned = offset === undefined || begin === null ? null : begin + offset;
    const isReached = planned !== null && planned <= now && (end === null || planned < end);
    if (at !== undefined || isReached) counts.published += 1;
    else if (offset === undefined) counts.drafts += 1;
    else if (state !== "past") counts.scheduled += 1;
  }
  return counts;
}

/** Returns the entries chronologically: by publication, then drafts in their order. */
export function chronological({ elements }: Contents, begin: number | null): readonly ContentsEntry[] {
  const timeOf = ({ at, offset }: ContentsEntry): number =>
    at ?? (offset === undefined ? Number.POSITIVE_INFINITY : (begin ?? unplanned) + offset);
  const keyed = elements.map(entry => ({ entry, time: timeOf(entry), nth: entry.nth ?? 0 }));
  // Two infinities have no difference.
  return keyed
    .sort((a, b) => (a.time === b.time ? a.nth - b.nth : a.time - b.time))
    .map(({ entry }) => entry);
}

/** A time behind all others, for events whose begin nobody knows. */
const unplanned = 10_000_000_000;
