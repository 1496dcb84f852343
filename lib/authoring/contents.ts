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
