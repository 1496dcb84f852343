/** JSON values part by part: whether two are the same, how they differ, and how changes of two people join. */

export type Members = Readonly<Record<string, unknown>>;
/** Names of members, positions, and the ids of items where a list has them. */
export type Path = readonly (string | number)[];

/** Parses a text; undefined where it is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Tests that a value has at most so many levels of objects and arrays. */
export function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every(each => isShallow(each, levels - 1));
}

/** Compares two values, whatever the order of members. An undefined member is none. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  }
  if (!isMembers(a) || !isMembers(b)) return false;
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every(key => isSame(own(a, key), own(b, key)));
}

function own(members: Members, key: string): unknown {
  return Object.hasOwn(members, key) ? members[key] : undefined;
}

export interface Compared {
  /** The path of the two values. @default [] */
  readonly path?: Path;
  /** Steps below which values are compared as wholes. */
  readonly depth?: number;
  /** Compares lists as wholes, also where their items have ids. */
  readonly hasWholeLists?: boolean;
}

export interface Difference {
  /** `order`: the same items in another order. */
  readonly op: "add" | "remove" | "change" | "order";
  readonly path: Path;
  readonly from?: unknown;
  readonly to?: unknown;
}

export function differences(from: unknown, to: unknown, how: Compared = {}): readonly Difference[] {
  const { path = [] } = how;
  const [before, after] = commonParts(from, to, how) ?? [];
  if (!before || !after) return isSame(from, to) ? [] : [{ op: "change", path, from, to }];
  const found = [...new Set([...before.keys(), ...after.keys()])].flatMap((name): readonly Difference[] => {
    const below = inside(how, name);
    const [old, now] = [before.get(name), after.get(name)];
    if (old === undefined) return now === undefined ? [] : [{ op: "add", path: below.path, to: now }];
    if (now === undefined) return [{ op: "remove", path: below.path, from: old }];
    return differences(old, now, below);
  });
  if (!Array.isArray(from)) return found;
  const [old, now] = [
    [...before.keys()].filter(name => after.has(name)),
    [...after.keys()].filter(name => before.has(name)),
  ];
  return isSame(old, now) ? found : [...found, { op: "order", path, from: old, to: now }];
}

export interface Conflict {
  readonly path: Path;
  readonly mine: unknown;
  readonly theirs: unknown;
}

export interface Merged {
  readonly value: unknown;
  /** Both changed these differently; the value has mine there. */
  readonly conflicts: readonly Conflict[];
  /** They alone changed these. */
  readonly taken: readonly Path[];
}

/** Joins what two people made of one value. */
export function merge(base: unknown, mine: unknown, theirs: unknown, how: Compared = {}): Merged {
  if (isSame(mine, theirs) || isSame(theirs, base)) return { value: mine, conflicts: [], taken: [] };
  if (isSame(mine, base)) {
    return { value: theirs, conflicts: [], taken: differences(mine, theirs, how).map(({ path }) => path) };
  }
  const [left, right] = commonParts(mine, theirs, how) ?? [];
  if (!left || !right) return { value: mine, conflicts: [{ path: how.path ?? [], mine, theirs }], taken: [] };
  const old = partsOf(base) ?? new Map<string, unknown>();
  const parts = [...new Set([...left.keys(), ...right.keys()])].map(name => ({
    name,
    ...merge(old.get(name), left.get(name), right.get(name), inside(how, name)),
  }));
  const kept = parts.filter(({ value }) => value !== undefined);
  return {
    value: Array.isArray(mine)
      ? kept.map(({ value }) => value)
      : Object.fromEntries(kept.map(({ name, value }) => [name, value])),
    conflicts: parts.flatMap(({ conflicts }) => conflicts),
    taken: parts.flatMap(({ taken }) => taken),
  };
}

function inside({ path = [], depth = Infinity, ...how }: Compared, name: string) {
  return { ...how, path: [...path, name], depth: depth - 1 };
}

/** Members that name an item in its list. */
const names = ["key", "id", "name"];

/** Returns the parts of an object, or of a list whose items all have an id of their own; null for everything else. */
function partsOf(value: unknown): ReadonlyMap<string, unknown> | null {
  if (isMembers(value)) return new Map(Object.entries(value));
  if (!Array.isArray(value) || value.length === 0 || !value.every(isMembers)) return null;
  const name = names.find(each => value.every(item => typeof item[each] === "string"));
  if (name === undefined) return null;
  const parts = new Map(value.map(item => [item[name] as string, item]));
  return parts.size === value.length ? parts : null;
}

/** Returns the parts of two values that can be compared part by part; null: they are compared as wholes. */
function commonParts(a: unknown, b: unknown, { depth = Infinity, hasWholeLists = false }: Compared) {
  if (depth === 0) return null;
  if (!Array.isArray(a) || !Array.isArray(b)) {
    return isMembers(a) && isMembers(b) ? ([partsOf(a), partsOf(b)] as const) : null;
  }
  if (hasWholeLists) return null;
  const [left, right] = [a, b].map(list => (list.length === 0 ? new Map<string, unknown>() : partsOf(list)));
  return left && right ? ([left, right] as const) : null;
}
