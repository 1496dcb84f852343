/** Flags, fields and rows that commands about events and elements share. */

import { id } from "../frame/checks.ts";
import type { ArgumentSpec, FlagSpec } from "../frame/command.ts";
import type { Fields } from "../frame/output.ts";
import type { ResourceObject } from "../frame/resources.ts";

/** Longest duration, in seconds. */
export const durationMax = 31_536_000;

export const projectFlag: FlagSpec = { value: "id", description: "The project", required: true, check: id };
export const eventFlag: FlagSpec = { value: "id", description: "The event", required: true, check: id };
export const yesFlag: FlagSpec = { description: "Do not ask" };
/** The flag that keeps a command from changing anything. */
export const dryRunFlag: FlagSpec = { description: "Say what would be done, and change nothing" };

export function idArgument(name: string, description: string): ArgumentSpec {
  return { name, description, check: id };
}

export const eventFields = {
  id: ["ID", "text"],
  name: ["NAME", "text"],
  state: ["STATE", "text"],
  start_at: ["START", "time?"],
  duration: ["DURATION", "whole"],
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

/** Most events that a question names. */
const namedMax = 20;

/** Names events in a question before they are deleted. */
export function namesOf(events: readonly ResourceObject[]): string {
  const names = events.slice(0, namedMax).map(({ id, attributes }) => `${attributes.name} (${id})`);
  const more = events.length > namedMax ? [`${events.length - namedMax} more`] : [];
  return `${events.length === 1 ? "1 event" : `${events.length} events`}: ${[...names, ...more].join(", ")}`;
}
