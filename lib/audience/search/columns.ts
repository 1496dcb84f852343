/**
 * What filters and fields can name of a user.
 *
 * @module
 */

import type { Environment, Value, ValueType } from "../../expressions/mod.ts";
import { isoTimeOrNull } from "../_times.ts";
import type { CustomFields } from "../profile/custom_fields.ts";
import type { ProfileRecord } from "../profile/record.ts";
import { jsonOf } from "./_json.ts";
import type { SpaceFacts } from "./facts.ts";
import type { SearchedUser } from "./searched_user.ts";
import type { FieldKind, FieldSpec } from "./types.ts";

/** Something of a user: as conditions see it, and as rows show it. */
export interface Column extends FieldSpec {
  /** What conditions compare; null: nothing, it can only be shown. Times are Unix ms for them. */
  readonly type: ValueType | null;
  readonly read: (user: SearchedUser) => Value;
  readonly show: (user: SearchedUser) => unknown;
  /** The JSON of what rows show. */
  readonly print: (user: SearchedUser) => string;
}

/** The fields of a search where nobody names any. */
export const defaultFields: readonly string[] = [
  "userId",
  "displayName",
  "customFields",
  "metrics",
  "createdAt",
  "updatedAt",
  "lastActiveAt",
];

/** Resolves the name of a column; null where there is none. */
export type FindColumn = (name: string) => Column | null;

/** What can be named of users who have these custom fields, in a space. */
export function columnsOf(customFields: CustomFields, space: SpaceFacts): FindColumn {
  const known = new Map(fixedColumns(space).map(column => [column.name, column]));
  return name => known.get(name) ?? namedColumn(name, customFields, space);
}

/** The variables of conditions. A condition of a rule, which begins them with `user.`, can be taken as it is. */
export function environmentOf(find: FindColumn): Environment<SearchedUser> {
  return {
    variable(path) {
      const column = find(variableName(path));
      return column === null || column.type === null ? null : { type: column.type, read: column.read };
    },
  };
}

const loyaltyRoots: ReadonlySet<string> = new Set(["metrics", "inventory", "challenges"]);

/** Whether a column is of a user's loyalty. */
export function isLoyalty(name: string): boolean {
  return loyaltyRoots.has(name.split(".", 1)[0] ?? "");
}

/** The name of the column that a variable of a condition stands for. */
export function variableName(path: string): string {
  return path.startsWith("user.") ? path.slice("user.".length) : path;
}

function fixedColumns(space: SpaceFacts): readonly Column[] {
  return [
    scalar("userId", "string", ({ userId }) => userId),
    scalar("displayName", "string", ({ profile }) => profile.displayName, stored("displayName")),
    scalar("provider", "string", ({ account }) => account?.provider ?? null),
    scalar("projectId", "string", ({ account }) => account?.projectId ?? null),
    scalar("version", "number", ({ profile }) => profile.version, stored("version")),
    time("createdAt", ({ createdAt }) => createdAt),
    time("updatedAt", ({ profile }) => profile.updatedAt),
    time("lastActiveAt", ({ lastActiveAt }) => lastActiveAt),
    whole("preferences", ({ profile }) => profile.preferences, stored("preferences")),
    whole("customFields", ({ profile }) => profile.customFields, stored("customFields")),
    whole("metrics", ({ loyalty }) => byId(space.metrics.keys(), loyalty.metric)),
    whole("inventory", ({ loyalty }) => byId(space.inventory, loyalty.items)),
    whole("challenges", ({ loyalty }) => byId(space.challenges, loyalty.challenge)),
  ];
}

function namedColumn(name: string, customFields: CustomFields, space: SpaceFacts): Column | null {
  const dot = name.indexOf(".");
  const [root, id] = [name.slice(0, dot), name.slice(dot + 1)];
  if (dot === -1) return null;
  if (root === "metrics" && space.metrics.has(id)) {
    return scalar(name, "number", ({ loyalty }) => loyalty.metric(id));
  }
  if (root === "challenges" && space.challenges.has(id)) {
    return scalar(name, "string", ({ loyalty }) => loyalty.challenge(id));
  }
  if (root === "inventory" && space.inventory.has(id)) {
    const read = ({ loyalty }: SearchedUser): readonly string[] => loyalty.items(id);
    return { ...whole(name, read), type: "list", read };
  }
  const field = root === "customFields" ? customFields.get(id) : undefined;
  if (field === undefined) return null;
  return scalar(name, field.type, ({ profile }) =>
    Object.hasOwn(profile.customFields, id) ? (profile.customFields[id] ?? null) : null,
  );
}

type Scalar = string | number | boolean;

function scalar(
  name: string,
  kind: Extract<FieldKind & ValueType, string>,
  show: (user: SearchedUser) => Scalar | null,
  print: Column["print"] = printed(show),
): Column {
  return { name, kind, type: kind, read: user => show(user) ?? undefined, show, print };
}

function time(name: string, read: (user: SearchedUser) => number | null): Column {
  const show = (user: SearchedUser): string | null => isoTimeOrNull(read(user));
  return {
    name,
    kind: "time",
    type: "number",
    read: user => read(user) ?? undefined,
    show,
    print: printed(show),
  };
}

function whole(
  name: string,
  show: (user: SearchedUser) => unknown,
  print: Column["print"] = printed(show),
): Column {
  return { name, kind: "json", type: null, read: () => undefined, show, print };
}

function printed(show: (user: SearchedUser) => unknown): Column["print"] {
  return user => jsonOf(show(user));
}

/** Prints a member of the profile as it is stored, without parsing it first. */
function stored(name: keyof ProfileRecord): Column["print"] {
  return user => user.profileText(name);
}

function byId<T>(ids: Iterable<string>, read: (id: string) => T): Readonly<Record<string, T>> {
  return Object.fromEntries([...ids].map(id => [id, read(id)]));
}
