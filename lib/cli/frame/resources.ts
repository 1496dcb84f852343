/** Resources of JSON:API, as commands read and write them. */

import type { Check } from "./checks.ts";

export interface ResourceObject {
  readonly type: string;
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships?: Readonly<Record<string, { readonly data?: Linkage }>>;
  readonly meta?: Readonly<Record<string, unknown>>;
}

type Linkage = Identifier | readonly Identifier[] | null;
export interface Identifier {
  readonly type: string;
  readonly id: string;
}

export function isLinkage(data: unknown): boolean {
  const isOne = (one: unknown): boolean => typeof (one as Partial<Identifier> | null)?.id === "string";
  return data === null || (Array.isArray(data) ? data.every(isOne) : isOne(data));
}

export interface AnyDocument {
  readonly data?: unknown;
  readonly included?: readonly ResourceObject[];
  readonly links?: { readonly next?: string | null };
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly "atomic:results"?: unknown;
}

export function relation({ relationships }: ResourceObject, name: string): string | null {
  const data = relationships?.[name]?.data;
  return data === undefined || data === null || Array.isArray(data) ? null : (data as Identifier).id;
}

/** Builds the document of a resource; `related` names others by relationship. */
export function documentOf(
  type: string,
  attributes: Readonly<Record<string, unknown>>,
  {
    id,
    related = {},
  }: { readonly id?: string | undefined; readonly related?: Readonly<Record<string, Identifier>> } = {},
) {
  const links = Object.entries(related).map(([name, data]) => [name, { data }]);
  const relationships = links.length === 0 ? undefined : Object.fromEntries(links);
  return { data: { type, id, attributes, relationships } };
}

export function pathOf({ kind, id }: Target, ...more: readonly string[]): string {
  return ["", kinds[kind].path, encodeURIComponent(id), ...more].join("/");
}

export type Kind = "organisation" | "space" | "project" | "event" | "element" | "event-template";

export interface Target {
  readonly kind: Kind;
  readonly id: string;
}

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

export function kindOf(word: string): Kind | null {
  const singular = word.replace(/s$/, "");
  if (!names.includes(singular)) return null;
  return singular === "org" ? "organisation" : (singular as Kind);
}
