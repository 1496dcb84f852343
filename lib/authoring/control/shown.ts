/**
 * Records as answers show them, and which of them a list has.
 *
 * @module
 */

import { type Shown, type ShownAs, shownOf } from "./jsonapi/documents.ts";
import type { ListView } from "./jsonapi/queries.ts";
import type { Circumstances, Input, Kind } from "./kind.ts";
import type { Transaction } from "./transaction.ts";

/** Returns the keys that reading and changing a record surely need. */
export function keysOf({ records, wants }: Kind, id: string, written?: Input["refs"]): readonly string[] {
  return [...records.keys(id), ...(wants?.(id, written) ?? [])];
}

/** Returns a record of a transaction, or null if there is none. */
export function show(
  kind: Kind,
  id: string,
  tx: Transaction,
  circumstances: Circumstances,
  shown: ShownAs,
): Shown | null {
  const entity = kind.records.get(tx, id);
  if (entity === null) return null;
  const { now, author } = circumstances;
  const presented = kind.present?.(entity, tx, { now, author, isListed: shown.isListed });
  return shownOf(kind.resource, entity, presented ?? { attributes: {} }, shown);
}

/** Attributes that filters of other names select by. */
const filtered: Readonly<Record<string, string>> = {
  include_in_latest_results: "include_in_latest_results_feed",
  scope: "availability",
};

/** `annotation` is `key` or `key=value`; of other filters the value is one of a list. */
export function isWanted({ entity, values }: Shown, filters: ListView["filters"]): boolean {
  return Object.entries(filters).every(([name, value]) => {
    const text = String(value);
    if (name === "annotation") {
      const [key = "", ...rest] = text.split("=");
      const annotation = (values.annotations as Readonly<Record<string, string>> | undefined)?.[key];
      return rest.length === 0 ? annotation !== undefined : annotation === rest.join("=");
    }
    if (name === "before") return Number(values.start_at ?? entity.created) * 1_000 < Date.parse(text);
    if (name === "only_listings") return true;
    return [values[filtered[name] ?? name]].flat().some(value => text.split(",").includes(String(value)));
  });
}

/** Returns the ids of the wanted records in the order of the view. */
export function arranged(found: readonly Shown[], { sort, filters }: ListView): readonly string[] {
  const wanted = found.filter(each => isWanted(each, filters));
  if (sort === null) return wanted.map(({ object }) => object.id);
  const keyOf = ({ entity, values }: Shown): string | number => {
    const value = values[sort.by] ?? entity.created;
    return typeof value === "number" ? value : String(value);
  };
  const sign = sort.descending ? -1 : 1;
  const keyed = wanted.map(each => ({ key: keyOf(each), id: each.object.id }));
  keyed.sort((a, b) => (a.key === b.key ? (a.id < b.id ? -sign : sign) : a.key < b.key ? -sign : sign));
  return keyed.map(({ id }) => id);
}

/** Returns the ids of a page behind an id. */
export function pageOf(all: readonly string[], { count }: ListView, after: string | undefined) {
  const start = after === undefined ? 0 : all.indexOf(after) + 1;
  const ids = all.slice(start, start + count);
  const next = start + ids.length < all.length ? (ids.at(-1) ?? null) : null;
  return { ids, next, total: all.length };
}
