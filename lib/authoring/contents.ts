/**
 * The contents of an event: which elements it has, in which order. It guards them: an element that is not listed does not exist, and
 * every change of one counts its revision up.
 *
 * @module
 */

/** An element as its event lists it. */
export interface ContentsEntry {
  readonly id: string;
  /** The wrapper that shows it. */
  readonly parent?: string;
  /** When producers published it, in Unix seconds. */
  readonly at?: number;
  /** Seconds after the begin of the event at which the clock publishes it. */
  readonly offset?: number;
  readonly isRevoked?: true;
}

/** The elements of an event. */
export interface Contents {
  readonly rev: number;
  /** In order. */
  readonly elements: readonly ContentsEntry[];
}

/** Most elements of an event. */
export const elementsMax = 1_000;

/** The contents of an event that never had elements. */
export const noContents: Contents = { rev: 0, elements: [] };

/** The key of the contents of an event. */
export function contentsKey(eventId: string): string {
  return `contents:${eventId}`;
}

/** The key of an element. */
export function elementKey(id: string): string {
  return `element:${id}`;
}

/** The key of the tally that counts the actions which named an event or element. */
export function statsKey(id: string): string {
  return `stats:${id}`;
}

/** Returns the entries chronologically: by publication, then drafts in their order. */
export function chronological({ elements }: Contents, begin: number | null): readonly ContentsEntry[] {
  const timeOf = ({ at, offset }: ContentsEntry): number =>
    at ?? (offset === undefined ? Number.POSITIVE_INFINITY : (begin ?? unplanned) + offset);
  const keyed = elements.map(entry => ({ entry, time: timeOf(entry) }));
  // Two infinities have no difference.
  return keyed.sort((a, b) => (a.time === b.time ? 0 : a.time - b.time)).map(({ entry }) => entry);
}

/** A time behind all others, for events whose begin nobody knows. */
const unplanned = 10_000_000_000;
