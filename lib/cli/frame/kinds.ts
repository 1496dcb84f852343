/** Kinds of resources, as people name them. */

import type { Check } from "./checks.ts";

/** A kind of resource that commands take as an argument. */
export type Kind = "organisation" | "space" | "project" | "event" | "element" | "event-template";

/** A resource. */
export interface Target {
  readonly kind: Kind;
  readonly id: string;
}

/** Path of a kind in the control API, and the relationships that lead up from it. */
export const kinds: Readonly<Record<Kind, { readonly path: string; readonly above: string }>> = {
  organisation: { path: "organisations", above: "" },
  space: { path: "spaces", above: "organisation" },
  project: { path: "projects", above: "space.organisation" },
  event: { path: "events", above: "project.space.organisation" },
  element: { path: "elements", above: "event.project.space.organisation" },
  "event-template": { path: "event_templates", above: "project.space.organisation" },
};

const names = [...Object.keys(kinds), "org"];

/** Checks the word for a kind; plurals are taken too. */
export const kindCheck: Check = word =>
  kindOf(word) === null ? `must be one of ${Object.keys(kinds).join(", ")}` : null;

/** Returns the kind that a word names, or null. */
export function kindOf(word: string): Kind | null {
  const singular = word.replace(/s$/, "");
  if (!names.includes(singular)) return null;
  return singular === "org" ? "organisation" : (singular as Kind);
}
