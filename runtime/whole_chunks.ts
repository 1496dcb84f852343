/**
 * Joins small files of the package. esbuild makes one file of the modules that the same entries load. With so many entries most
 * files are small: a program that imports `grandstand` read 70 of them, and each takes as long as some 10 KB of source. Joined they
 * are 38, and the import takes 0.8 of the time.
 */

import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import type { Metafile, Plugin } from "esbuild";

/** A file that entries share, files that are to be one, or a package. */
interface Chunk {
  readonly files: readonly string[];
  /** Source files. A package has none, nor have the helpers of esbuild. */
  readonly modules: readonly string[];
  readonly bytes: number;
  /** Entries that load it. */
  readonly entries: ReadonlySet<string>;
  /** Files and packages that load with it. */
  readonly imports: ReadonlySet<string>;
}

/** Returns what the entries of a build share. */
function sharedChunks({ outputs }: Metafile): readonly Chunk[] {
  const importsOf = (path: string, into = new Set<string>()): ReadonlySet<string> => {
    for (const { path: next, kind } of outputs[path]?.imports ?? []) {
      if (kind === "import-statement" && !into.has(next)) importsOf(next, into.add(next));
    }
    return into;
  };
  const entries = Object.entries(outputs).flatMap(([path, { entryPoint }]) =>
    entryPoint === undefined ? [] : [{ entryPoint, imports: importsOf(path) }],
  );
  return [...new Set(entries.flatMap(({ imports }) => [...imports]))].map(path => ({
    files: [path],
    modules: Object.keys(outputs[path]?.inputs ?? {}),
    bytes: outputs[path]?.bytes ?? 0,
    entries: new Set(entries.filter(each => each.imports.has(path)).map(each => each.entryPoint)),
    imports: importsOf(path),
  }));
}

/** How much source takes as long to load as one more file, on Node 20. */
const fileBytes = 10_000;

/** How much less all entries together load once two chunks are one. That of servers loads no code that it does not use. */
function bytesSaved(one: Chunk, other: Chunk): number {
  if (one.entries.has("lib/mod.ts") !== other.entries.has("lib/mod.ts")) return 0;
  const both = [...one.entries].filter(entry => other.entries.has(entry)).length;
  const unused = (one.entries.size - both) * other.bytes + (other.entries.size - both) * one.bytes;
  return both * fileBytes - unused;
}

function union(one: Chunk, other: Chunk): Chunk {
  return {
    files: [...one.files, ...other.files],
    modules: [...one.modules, ...other.modules],
    bytes: one.bytes + other.bytes,
    entries: new Set([...one.entries, ...other.entries]),
    imports: new Set([...one.imports, ...other.imports]),
  };
}

/** Whether the entries of a chunk load already all that it imports. */
function isComplete({ files, entries, imports }: Chunk, chunks: readonly Chunk[]): boolean {
  return chunks
    .filter(chunk => chunk.files.some(file => imports.has(file) && !files.includes(file)))
    .every(chunk => [...entries].every(entry => chunk.entries.has(entry)));
}

/** Joins chunks by pairs, the best first, for as long as that saves something. */
function joinChunks(shared: readonly Chunk[]): readonly Chunk[] {
  const isOwn = ({ modules }: Chunk): boolean => modules.length > 0;
  const pairsWith = (one: Chunk, others: readonly Chunk[]) =>
    others
      .filter(isOwn)
      .map(other => ({ one, other, saved: bytesSaved(one, other) }))
      .filter(({ saved }) => saved > 0);
  let chunks = shared;
  let pairs = chunks.filter(isOwn).flatMap((one, index, own) => pairsWith(one, own.slice(index + 1)));
  for (;;) {
    const best = pairs
      .toSorted((one, other) => other.saved - one.saved)
      .find(({ one, other }) => isComplete(union(one, other), chunks));
    if (best === undefined) return chunks;
    const isLeft = (chunk: Chunk): boolean => chunk !== best.one && chunk !== best.other;
    const joined = union(best.one, best.other);
    chunks = chunks.filter(isLeft);
    pairs = pairs.filter(({ one, other }) => isLeft(one) && isLeft(other));
    pairs.push(...pairsWith(joined, chunks));
    chunks = [...chunks, joined];
  }
}

/**
 * Makes each joined chunk of an earlier build a file. esbuild puts the modules into one file that the same entries import, so each
 * entry imports all modules of its chunks.
 */
export function wholeChunks(root: string, earlier: Metafile): Plugin {
  const chunks = joinChunks(sharedChunks(earlier));
  const statement = (path: string): string => `import ${JSON.stringify(path)};`;
  const source = (lines: readonly string[]) => ({ contents: lines.join("\n"), resolveDir: root });
  return {
    name: "whole_chunks",
    setup: ({ onResolve, onLoad }) => {
      onResolve({ filter: /^[./]|^chunk:/ }, ({ kind, namespace, path, resolveDir }) => {
        if (kind === "entry-point" || kind === "dynamic-import") {
          return { path: relative(root, resolve(resolveDir, path)), namespace: "entry" };
        }
        if (path.startsWith("chunk:")) return { path, namespace: "chunk" };
        // The command exports nothing and runs.
        return namespace === "entry" ? { path, sideEffects: true } : null;
      });
      onLoad({ filter: /./, namespace: "entry" }, ({ path }) => {
        const [first = ""] = readFileSync(root + path, "utf8").split("\n");
        return source([
          ...(first.startsWith("#!") ? [first] : []),
          `export * from ${JSON.stringify(root + path)};`,
          ...chunks.flatMap(({ entries }, index) => (entries.has(path) ? [statement(`chunk:${index}`)] : [])),
        ]);
      });
      onLoad({ filter: /./, namespace: "chunk" }, ({ path }) => {
        const { modules = [] } = chunks[Number(path.slice("chunk:".length))] ?? {};
        return source(modules.map(module => statement(root + module)));
      });
    },
  };
}
