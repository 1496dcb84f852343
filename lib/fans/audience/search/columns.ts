/** The fields of users: what filters compare and rows show. */

import { isoTimeOrNull } from "../../../base/calendar/mod.ts";
import type { Environment, Value, ValueType } from "../../../base/expressions/mod.ts";
import type { FactsReader } from "../../loyalty/views/loyalty_reader.ts";
import { type Account, foldName } from "../../users/mod.ts";
import type { CustomFields, CustomValue } from "../profile/custom_fields.ts";
import type { ProfileRecord } from "../profile/record.ts";
import type { FieldKind, FieldSpec } from "./types.ts";
import type { SearchedUser } from "./user_reader.ts";

export interface Column extends FieldSpec {
  /** The type in conditions, where times are Unix ms; null for a field that can only be shown. */
  readonly type: ValueType | null;
  readonly read: (user: SearchedUser) => Value;
  readonly show: (user: SearchedUser) => unknown;
  /** Returns the JSON of what `show` returns. */
  readonly print: (user: SearchedUser) => string;
}

export const defaultFields: readonly string[] = [
  "userId",
  "displayName",
  "customFields",
  "metrics",
  "createdAt",
  "updatedAt",
  "lastActiveAt",
];

export type FindColumn = (name: string) => Column | null;

/** Returns the columns of users with these custom fields in a space. */
export function columnsOf(customFields: CustomFields, space: FactsReader): FindColumn {
  const fixed = new Map(fixedColumns(space).map(column => [column.name, column]));
  return name => fixed.get(name) ?? namedColumn(name, customFields, space);
}

/** Returns the variables of conditions. The `user.` of conditions in rules is accepted. */
export function environmentOf(find: FindColumn): Environment<SearchedUser> {
  return {
    variable(path) {
      const column = find(variableName(path));
      return column === null || column.type === null ? null : { type: column.type, read: column.read };
    },
  };
}

export const fieldPrefix = "customFields.";

/** The column of registered names in the form in which the index has them. */
export const foldedName = "usernameFolded";

const loyaltyRoots: ReadonlySet<string> = new Set(["metrics", "inventory", "challenges"]);

export function isLoyaltyColumn(name: string): boolean {
  return loyaltyRoots.has(name.split(".", 1)[0] ?? "");
}

export function variableName(path: string): string {
  return path.startsWith("user.") ? path.slice("user.".length) : path;
}

function fixedColumns(space: FactsReader): readonly Column[] {
  return [
    scalar("userId", "string", ({ userId }) => userId),
    scalar("displayName", "string", displayName, user => {
      const stored = user.profileJson("displayName");
      return stored === "null" ? printJson(registeredName(user.account)) : stored;
    }),
    scalar("username", "string", ({ account }) => registeredName(account)),
    scalar(foldedName, "string", ({ account }) => foldName(registeredName(account) ?? "")),
    scalar("provider", "string", ({ account }) => account?.provider ?? null),
    scalar("projectId", "string", ({ account }) => account?.projectId ?? null),
    scalar("version", "number", ({ profile }) => profile.version, storedJson("version")),
    time("createdAt", ({ createdAt }) => createdAt),
    time("updatedAt", ({ profile }) => profile.updatedAt),
    time("lastActiveAt", ({ lastActiveAt }) => lastActiveAt),
    object("preferences", ({ profile }) => profile.preferences, storedJson("preferences")),
    object("customFields", ({ profile }) => profile.customFields, storedJson("customFields")),
    object("metrics", ({ loyalty }) => byId(space.metrics.keys(), loyalty.metric)),
    object("inventory", ({ loyalty }) => byId(space.inventory, loyalty.items)),
    object("challenges", ({ loyalty }) => byId(space.challenges, loyalty.challenge)),
  ];
}

function namedColumn(name: string, customFields: CustomFields, space: FactsReader): Column | null {
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
    const show = ({ loyalty }: SearchedUser): readonly string[] => loyalty.items(id);
    return { ...object(name, show), type: "list", read: user => filled(show(user)) };
  }
  const field = root === "customFields" ? customFields.get(id) : undefined;
  if (field === undefined) return null;
  const read = ({ profile }: SearchedUser): CustomValue | undefined =>
    Object.hasOwn(profile.customFields, id) ? profile.customFields[id] : undefined;
  if (field.type === "list") {
    return { ...object(name, user => read(user) ?? null), type: "list", read: user => filled(read(user)) };
  }
  return scalar(name, field.type, user => {
    const value = read(user) ?? null;
    return typeof value === "object" ? null : value;
  });
}

/** An empty list is no value. */
function filled<T>(value: T): T | undefined {
  return Array.isArray(value) && value.length === 0 ? undefined : value;
}

function displayName({ profile, account }: SearchedUser): string | null {
  return profile.displayName ?? registeredName(account);
}

function registeredName(account: Account | null): string | null {
  return account?.name || null;
}

function scalar(
  name: string,
  kind: Extract<FieldKind & ValueType, string>,
  show: (user: SearchedUser) => string | number | boolean | null,
  print: Column["print"] = user => printJson(show(user)),
): Column {
  return { name, kind, type: kind, read: user => show(user) ?? undefined, show, print };
}

function time(name: string, read: (user: SearchedUser) => number | null): Column {
  const show = (user: SearchedUser): string | null => isoTimeOrNull(read(user));
  const print = (user: SearchedUser): string => printJson(show(user));
  return { name, kind: "time", type: "number", read: user => read(user) ?? undefined, show, print };
}

function object(
  name: string,
  show: (user: SearchedUser) => unknown,
  print: Column["print"] = user => printJson(show(user)),
): Column {
  return { name, kind: "json", type: null, read: () => undefined, show, print };
}

/** Copies the JSON of a member of the stored profile without parsing it. */
function storedJson(name: keyof ProfileRecord): Column["print"] {
  return user => user.profileJson(name);
}

/** Text that needs no escapes. Quoting it directly takes a third of the time of `JSON.stringify`: exports print millions. */
const plainText = /^[ !#-[\]-~]*$/;

function printJson(value: unknown): string {
  if (typeof value === "string" && plainText.test(value)) return `"${value}"`;
  return JSON.stringify(value) ?? "null";
}

function byId<T>(ids: Iterable<string>, read: (id: string) => T): Readonly<Record<string, T>> {
  return Object.fromEntries([...ids].map(id => [id, read(id)]));
}
