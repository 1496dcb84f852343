/** JSON documents as people edit them: where their parts stand in the text. */

import { jsonPointer } from "../../../../base/errors/mod.ts";

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
      members.set(name, this.#value(`${pointer}${jsonPointer(name)}`, depth + 1));
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

/** Returns the span of the part at a pointer, or of the nearest part around it that is there. */
export function spanOf({ spans }: Pick<JsonText, "spans">, pointer: string): Span {
  for (let at = pointer; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    const found = spans.get(at);
    if (found !== undefined) return found;
  }
  return spans.get("") ?? [0, 0];
}

/** Writes a document as it is edited. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
