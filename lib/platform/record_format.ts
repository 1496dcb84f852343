/**
 * How records look in a copy of a person's data: one schema for a kind, which has descriptions, the units of times and the types.
 */

import * as v from "valibot";
import { isoTime } from "../base/calendar/mod.ts";
import type { Immutable } from "../http/mod.ts";

/** Milliseconds of the unit of a stored time; for objects and lists the members that have times, `*` for each of them. */
type Times = number | { readonly [member: string]: Times };

/** The form of a kind of record. */
export interface RecordFormat {
  /** The schema of its data: its input as they are stored, its output as a copy shows them. */
  readonly schema: v.GenericSchema;
  /** Descriptions of the members by path; undefined: the data are a text. */
  readonly members: Readonly<Record<string, string>> | undefined;
  /** Undefined: no member is a time. */
  readonly times: Times | undefined;
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

/** A schema of all members of a type and no others. */
type SchemaOf<T, S extends v.GenericSchema> = [T] extends [Immutable<v.InferInput<S>>]
  ? [MemberPath<T>] extends [MemberPath<v.InferInput<S>>]
    ? [MemberPath<v.InferInput<S>>] extends [MemberPath<T>]
      ? S
      : { readonly unknown: Exclude<MemberPath<v.InferInput<S>>, MemberPath<T>> }
    : { readonly missing: Exclude<MemberPath<T>, MemberPath<v.InferInput<S>>> }
  : { readonly differs: T };

/** Makes the form of records of a type. A member that the schema lacks does not compile. */
export function formatOf<T>() {
  return <S extends v.GenericSchema>(schema: S & SchemaOf<T, S>): RecordFormat => {
    const members: Record<string, string> = {};
    const times = readParts(schema, [], members);
    return { schema, members: schema.type === "string" ? undefined : members, times };
  };
}

export const text = (description: string) => v.pipe(v.string(), v.description(description));
export const number = (description: string) => v.pipe(v.number(), v.description(description));
export const flag = (description: string) => v.pipe(v.boolean(), v.description(description));
export const maybe = v.optional;

/** Values of apps by name. */
export const values = (description: string) =>
  v.pipe(v.record(v.string(), v.unknown()), v.description(description));
export const list = <S extends v.GenericSchema>(item: S, description: string) =>
  v.pipe(v.array(item), v.description(description));
export const map = <S extends v.GenericSchema>(value: S, description: string) =>
  v.pipe(v.record(v.string(), value), v.description(description));
export const object = <E extends v.ObjectEntries>(entries: E, description: string) =>
  v.pipe(v.object(entries), v.description(description));

/** The last time that a text can name, in Unix ms. */
const timeMax = 8_640_000_000_000_000;

/** Returns a time as a text. Where a time is stored as 0, there is none: null. */
function timeText(value: number | null, unit: number): string | null {
  return value === 0 || value === null ? null : isoTime(Math.min(value * unit, timeMax));
}

/** Milliseconds of the unit in which a time is stored. */
const units = new WeakMap<object, number>();

const time = (unit: number) => (description: string) => {
  const schema = v.pipe(
    v.nullable(v.number()),
    v.transform(value => timeText(value, unit)),
    v.nullable(v.pipe(v.string(), v.isoTimestamp())),
    v.description(description),
  );
  units.set(schema, unit);
  return schema;
};
export const ms = time(1);
export const seconds = time(1_000);

/** A schema with the schemas that it is made of. */
type Part = v.GenericSchema &
  Partial<{
    readonly wrapped: Part;
    readonly options: readonly Part[];
    readonly entries: Readonly<Record<string, Part>>;
    readonly items: readonly Part[];
    readonly item: Part;
    readonly value: Part;
  }>;

/** Notes the descriptions below a path. Returns the times. */
function readParts(part: Part, path: readonly string[], members: Record<string, string>): Times | undefined {
  const description = v.getDescription(part);
  if (description !== undefined && path.length > 0) members[path.join(".")] = description;
  const unit = units.get(part);
  if (unit !== undefined) return unit;
  const { wrapped, options, entries, items, item = part.value } = part;
  const alternatives = [
    ...[wrapped, ...(options ?? [])].map(one => one && readParts(one, path, members)),
    ...Object.entries(entries ?? items ?? (item === undefined ? {} : { "*": item })).map(([name, inner]) => {
      const times = readParts(inner, [...path, name], members);
      return times && { [name]: times };
    }),
  ].filter(times => times !== undefined);
  return alternatives.find(times => typeof times === "number") ?? merged(alternatives);
}

function merged(times: readonly Times[]): Times | undefined {
  return times.length === 0 ? undefined : Object.assign({}, ...times);
}

/** Returns a record with its times as texts. */
export function withTimeTexts(value: unknown, times: Times | undefined): unknown {
  if (typeof times === "number") return typeof value === "number" ? timeText(value, times) : value;
  if (times === undefined || typeof value !== "object" || value === null) return value;
  const shown = Object.entries(value).map(([name, member]) => {
    const own = Object.hasOwn(times, name) ? times[name] : undefined;
    return [name, withTimeTexts(member, own ?? times["*"])] as const;
  });
  return Array.isArray(value) ? shown.map(([, member]) => member) : Object.fromEntries(shown);
}
