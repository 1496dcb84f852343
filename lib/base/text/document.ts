/** Documents that people write: JSON or YAML 1.2. Errors name line and column. */

import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  parseDocument,
  Scalar,
  visit,
  type YAMLMap,
} from "yaml";

/** A document, and where it has its values. */
export interface LocatedDocument {
  readonly document: unknown;
  /** Returns the position of a JSON Pointer, or of its nearest existing parent: `<path>:<line>:<column>`. */
  readonly locate: (pointer: string) => string;
}

/** Most aliases (`*name`) that a document may resolve, so that a small file cannot become a large document. */
const aliasesMax = 50;

/**
 * Parses the text of a file; `path` names it in messages.
 *
 * @throws {Error} The text is neither JSON nor YAML; the message names every fault.
 */
export function parseDocumentText(text: string, path: string): LocatedDocument {
  const lines = new LineCounter();
  const parsed = parseDocument(text, {
    lineCounter: lines,
    schema: "core",
    merge: false,
    stringKeys: true,
    prettyErrors: false,
  });
  const positionOf = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${path}:${line}:${col}`;
  };
  const mended = new Set(mendReferences(parsed));
  const faults = [...parsed.errors, ...parsed.warnings].filter(
    ({ code, pos }) => code !== "NON_STRING_KEY" || !mended.has(pos[0]),
  );
  if (faults.length > 0) {
    const messages = faults.map(({ message, pos }) => `\n  ${positionOf(pos[0])}: ${message}`);
    throw new Error(`Cannot read ${path} as JSON or YAML:${messages.join("")}`);
  }
  return {
    document: contentsOf(parsed, path),
    locate: pointer => positionOf(offsetOf(parsed, pointer)),
  };
}

/** Resolves the aliases of a document. @throws {Error} There are too many, or one names nothing. */
function contentsOf(parsed: Document, path: string): unknown {
  try {
    return parsed.toJS({ maxAliasCount: aliasesMax });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : cause;
    throw new Error(`Cannot read ${path} as JSON or YAML: ${reason}`, { cause });
  }
}

/**
 * Turns references without quotes, such as `{{name}}`, into text: to YAML they are maps whose key is a map. Returns the offsets of
 * those keys.
 */
function mendReferences(parsed: Document): readonly number[] {
  const offsets: number[] = [];
  visit(parsed, {
    Map(key, node) {
      const inner = onlyKeyOf(node);
      const name = isMap(inner) ? onlyKeyOf(inner) : null;
      if (key === "key" || !isMap(inner) || !isScalar(name) || !/^[\w.-]+$/.test(String(name.source))) return;
      offsets.push(inner.range?.[0] ?? -1);
      const text = new Scalar(`{{${name.source}}}`);
      text.range = node.range ?? null;
      if (node.anchor !== undefined) text.anchor = node.anchor;
      return text;
    },
  });
  return offsets;
}

function onlyKeyOf({ flow, items }: YAMLMap): unknown {
  const [pair, ...others] = items;
  return flow === true && others.length === 0 && pair?.value === null ? pair.key : null;
}

function offsetOf({ contents }: Document, pointer: string): number {
  let offset = contents?.range?.[0] ?? 0;
  let node: unknown = contents;
  for (const token of pointer.split("/").slice(1)) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    node = isCollection(node) ? node.get(/^\d+$/.test(name) ? Number(name) : name, true) : undefined;
    if (!isNode(node)) return offset;
    offset = node.range?.[0] ?? offset;
  }
  return offset;
}
