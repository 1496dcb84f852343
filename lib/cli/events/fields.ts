import type { Fields } from "../frame/output.ts";
import type { ResourceObject } from "../frame/resources.ts";

/** Longest duration, in seconds. */
export const durationMax = 31_536_000;

export const eventFields = {
  id: "text",
  name: "text",
  state: "text",
  start_at: ["START", "time?"],
  duration: "whole",
} as const satisfies Fields;

interface ElementCounts {
  readonly all: number;
  readonly drafts: number;
  readonly scheduled: number;
  readonly published: number;
}

export function countsOf({ attributes }: ResourceObject): ElementCounts {
  return attributes.element_counts as ElementCounts;
}

export function isActive({ attributes: { state } }: ResourceObject): boolean {
  return state === "current" || state === "on_demand";
}

const namedMax = 20;

export function namesOf(events: readonly ResourceObject[]): string {
  const names = events.slice(0, namedMax).map(({ id, attributes }) => `${attributes.name} (${id})`);
  const more = events.length > namedMax ? [`${events.length - namedMax} more`] : [];
  return `${events.length === 1 ? "1 event" : `${events.length} events`}: ${[...names, ...more].join(", ")}`;
}
