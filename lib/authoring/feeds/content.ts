/** Fields of content as feeds show them. */

import type { Field } from "../table/schemas.ts";

type ByLocale = Record<string, Record<string, unknown>>;

/** Returns fields by locale and key, without null. `all`, whose values are those of every locale, is always there. */
export function byLocale(fields: unknown): ByLocale {
  const found: ByLocale = { all: {} };
  for (const { key, values } of fieldsOf(fields)) {
    for (const [locale, value] of Object.entries(values)) {
      if (value !== null) found[locale] = { ...found[locale], [key]: value };
    }
  }
  return found;
}

/** Returns the value of each field for every locale, or else that of its first one. Addresses lose their scheme. */
export function plainValues(fields: unknown): Record<string, unknown> {
  return Object.fromEntries(
    fieldsOf(fields).map(({ key, values }) => [
      key,
      withoutScheme(values.all ?? Object.values(values)[0] ?? null),
    ]),
  );
}

/** Returns an address relative to the scheme of its page; any other value as it is. */
export function withoutScheme<T>(value: T): T {
  return typeof value === "string" ? (value.replace(/^https?:(?=\/\/)/, "") as T) : value;
}

/** Leaves out members that are null. */
export function withoutNulls<T extends object>(value: T): { readonly [K in keyof T]: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null)) as never;
}

/** Returns a time in Unix seconds as ISO 8601. */
export function isoOf(seconds: number | null): string | null {
  return seconds === null ? null : new Date(seconds * 1_000).toISOString();
}

function fieldsOf(fields: unknown): readonly Field[] {
  return Array.isArray(fields) ? (fields as readonly Field[]) : [];
}
