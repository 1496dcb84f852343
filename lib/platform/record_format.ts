/** How records are described in a copy of a person's data, and their times written as texts. */

import { isoTime } from "../base/calendar/mod.ts";

/** The unit of a stored time; for objects and lists the members that have times, `*` for each of them. */
type Times = "ms" | "s" | { readonly [member: string]: Times };

export interface RecordFormat {
  readonly members: Readonly<Record<string, string>>;
  /** @default no member is a time */
  readonly times?: Times | undefined;
}

type Below<N extends string, P> = P extends string ? `${N}.${P}` : never;

/** The paths of members: names joined by dots, `*` for each entry of a list or map. Nothing is known below values of apps. */
type MemberPath<T> = unknown extends T
  ? never
  : T extends readonly unknown[]
    ? number extends T["length"]
      ? Below<"*", MemberPath<T[number]>>
      : NamedPath<T, keyof T & `${number}`>
    : T extends object
      ? string extends keyof T
        ? Below<"*", MemberPath<T[keyof T]>>
        : NamedPath<T, keyof T & string>
      : never;

type NamedPath<T, N extends keyof T & string> = {
  [K in N]-?: K | Below<K, MemberPath<NonNullable<T[K]>>>;
}[N];

/** The paths of a kind of record. A map has a description of its entries. */
export type RecordPath<T> = MemberPath<T> | (string extends keyof T ? "*" : never);

/** Describes records by the paths of their type, so that a new member without a description does not compile. */
export function formatOf<P extends string>(
  members: Readonly<Record<P, string>>,
  times?: Times,
): RecordFormat {
  return { members, times };
}

/** Puts descriptions below a member. */
export function below<N extends string, P extends string>(name: N, members: Readonly<Record<P, string>>) {
  const entries = Object.entries<string>(members).map(([path, text]) => [`${name}.${path}`, text]);
  return Object.fromEntries(entries) as Readonly<Record<Below<N, P>, string>>;
}

/** The last time that a text can name, in Unix ms. */
const timeMax = 8_640_000_000_000_000;

/** Returns a record with its times as texts. Where a time is stored as 0, there is none: null. */
export function withTimeTexts(value: unknown, times: Times | undefined): unknown {
  if (times === "ms" || times === "s") {
    if (typeof value !== "number") return value;
    return value === 0 ? null : isoTime(Math.min(value * (times === "s" ? 1_000 : 1), timeMax));
  }
  if (times === undefined || typeof value !== "object" || value === null) return value;
  const shown = Object.entries(value).map(([name, member]) => {
    const own = Object.hasOwn(times, name) ? times[name] : undefined;
    return [name, withTimeTexts(member, own ?? times["*"])] as const;
  });
  return Array.isArray(value) ? shown.map(([, member]) => member) : Object.fromEntries(shown);
}
