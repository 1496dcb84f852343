/** JSON documents as people edit them: where their parts stand in the text, how two differ, and how changes of two people join. */

/** From the first character of a part to behind its last. */
export type Span = readonly [start: number, end: number];

export interface JsonText {
  /** Undefined where the text is no JSON. */
  readonly value: unknown;
  /** Spans of all parts by their JSON pointers. */
  readonly spans: ReadonlyMap<string, Span>;
  readonly fault: { readonly at: number; readonly detail: string } | null;
}

/** Nested parts of a document; deeper ones are a fault. */
const depthMax = 100;
const scalar =
  /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy;
const space = /[ \t\r\n]*/y;

class JsonFault extends Error {
  readonly at: number;

  constructor(at: number, detail: string) {
    super(detail);
    this.at = at;
  }
}

class Reader {
  readonly spans = new Map<string, Span>();
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): unknown {
    const value = this.#value("", 0);
    if (this.#next() !== "") throw new JsonFault(this.#at, "Expected the end of the document");
    return value;
  }

  #value(pointer: string, depth: number): unknown {
    const first = this.#next();
    const start = this.#at;
    if (depth > depthMax) throw new JsonFault(start, `Expected at most ${depthMax} nested parts`);
    const read = { "{": () => this.#object(pointer, depth), "[": () => this.#list(pointer, depth) }[first];
    const value = read === undefined ? this.#scalar() : read();
    this.spans.set(pointer, [start, this.#at]);
    return value;
  }

  #object(pointer: string, depth: number): unknown {
    const members = new Map<string, unknown>();
    this.#items("}", () => {
      const first = this.#next();
      const at = this.#at;
      const name = first === '"' ? String(this.#scalar()) : null;
      if (name === null) throw new JsonFault(at, "Expected a name in double quotes");
      if (members.has(name)) throw new JsonFault(at, `Expected the name "${name}" once`);
      if (this.#next() !== ":") throw new JsonFault(this.#at, "Expected a colon");
      this.#at++;
      members.set(name, this.#value(`${pointer}/${escaped(name)}`, depth + 1));
    });
    return Object.fromEntries(members);
  }

  #list(pointer: string, depth: number): unknown {
    const items: unknown[] = [];
    this.#items("]", () => items.push(this.#value(`${pointer}/${items.length}`, depth + 1)));
    return items;
  }

  #items(end: string, read: () => void): void {
    this.#at++;
    if (this.#next() === end) {
      this.#at++;
      return;
    }
    for (;;) {
      read();
      const next = this.#next();
      if (next !== "," && next !== end) throw new JsonFault(this.#at, `Expected a comma or ${end}`);
      this.#at++;
      if (next === end) return;
    }
  }

  #scalar(): unknown {
    scalar.lastIndex = this.#at;
    const [found] = scalar.exec(this.#text) ?? [];
    if (found === undefined) throw new JsonFault(this.#at, "Expected a JSON value");
    this.#at += found.length;
    return JSON.parse(found);
  }

  /** Skips space, and returns the character behind it; "" at the end. */
  #next(): string {
    space.lastIndex = this.#at;
    space.exec(this.#text);
    this.#at = space.lastIndex;
    return this.#text.charAt(this.#at);
  }
}

export function readJson(text: string): JsonText {
  const reader = new Reader(text);
  try {
    return { value: reader.document(), spans: reader.spans, fault: null };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return { value: undefined, spans: reader.spans, fault: { at: error.at, detail: error.message } };
  }
}

function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Returns the span of the part at a pointer, or of the nearest part around it that is there. */
export function spanOf({ spans }: Pick<JsonText, "spans">, pointer: string): Span {
  for (let at = pointer; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    const found = spans.get(at);
    if (found !== undefined) return found;
  }
  return spans.get("") ?? [0, 0];
}

export interface Difference {
  /** `order`: the same items in another order. */
  readonly op: "add" | "remove" | "change" | "order";
  /** Names of members, and the ids of items where a list has them. */
  readonly path: readonly string[];
  readonly from?: unknown;
  readonly to?: unknown;
}

export type Members = Readonly<Record<string, unknown>>;

export function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
function commonParts(a: unknown, b: unknown) {
  if (!Array.isArray(a) || !Array.isArray(b)) {
    return isMembers(a) && isMembers(b) ? ([partsOf(a), partsOf(b)] as const) : null;
  }
  const [left, right] = [a, b].map(list => (list.length === 0 ? new Map<string, unknown>() : partsOf(list)));
  return left && right ? ([left, right] as const) : null;
}

export function differences(from: unknown, to: unknown, path: readonly string[] = []): readonly Difference[] {
  const [before, after] = commonParts(from, to) ?? [];
  if (!before || !after) return isSame(from, to) ? [] : [{ op: "change", path, from, to }];
  const found = [...new Set([...before.keys(), ...after.keys()])].flatMap((name): readonly Difference[] => {
    const at = [...path, name];
    if (!before.has(name)) return [{ op: "add", path: at, to: after.get(name) }];
    if (!after.has(name)) return [{ op: "remove", path: at, from: before.get(name) }];
    return differences(before.get(name), after.get(name), at);
  });
  if (!Array.isArray(from)) return found;
  const [old, now] = [
    [...before.keys()].filter(name => after.has(name)),
    [...after.keys()].filter(name => before.has(name)),
  ];
  return isSame(old, now) ? found : [...found, { op: "order", path, from: old, to: now }];
}

export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]));
  }
  if (!isMembers(a) || !isMembers(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every(key => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  );
}

export interface Merged {
  readonly value: unknown;
  /** Paths that both changed; the value has mine there. */
  readonly conflicts: readonly (readonly string[])[];
}

/** Joins what two people made of one document, part by part. */
export function merge(base: unknown, mine: unknown, theirs: unknown, path: readonly string[] = []): Merged {
  if (isSame(mine, theirs) || isSame(theirs, base)) return { value: mine, conflicts: [] };
  if (isSame(mine, base)) return { value: theirs, conflicts: [] };
  const [own, other] = commonParts(mine, theirs) ?? [];
  if (!own || !other) return { value: mine, conflicts: [path] };
  const old = partsOf(base) ?? new Map<string, unknown>();
  const parts = [...new Set([...own.keys(), ...other.keys()])].map(name => {
    const merged = merge(old.get(name), own.get(name), other.get(name), [...path, name]);
    return { name, ...merged };
  });
  const kept = parts.filter(({ value }) => value !== undefined);
  return {
    value: Array.isArray(mine)
      ? kept.map(({ value }) => value)
      : Object.fromEntries(kept.map(({ name, value }) => [name, value])),
    conflicts: parts.flatMap(({ conflicts }) => conflicts),
  };
}

/** Writes a document as it is edited. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
