/**
 * Builds the package: one bundle per entry of the `exports` map and one for the command, with what they share in chunks,
 * and their declarations. Small chunks are joined, because each file that a program loads costs time.
 *
 * ```sh
 * npm run build
 * npm run build -- --no-types   # without declarations, which a server does not need
 * ```
 */

import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";
import { areaDeclarations } from "./declarations/mod.ts";
import { slimDeclarations } from "./declarations/slim.ts";
import { buildDocs, buildPage, buildShow } from "./services/pages.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

/** The source files behind the package's entries and its command, relative to the repository. */
function entrySources(): string[] {
  const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as Manifest;
  const targets = Object.values(manifest.exports).map(entry =>
    typeof entry === "string" ? entry : entry.default,
  );
  return [...targets, ...Object.values(manifest.bin)]
    .filter(target => target.startsWith("./dist/"))
    .map(target => target.replace("./dist/", "").replace(/\.js$/, ".ts"));
}

/** What the bundles hold that is built from other files. */
async function generated(): Promise<Plugin> {
  const [studio, show, guides] = await Promise.all([buildPage(), buildShow(), buildDocs()]);
  const contents = {
    "lib/pages/studio/page_files.ts": `export const pageFiles = ${JSON.stringify(studio)};`,
    "lib/pages/show/page_files.ts": `export const pageFiles = ${JSON.stringify(show)};`,
    "lib/pages/docs/guides.ts": `export const docsContent = ${JSON.stringify(guides)};`,
  };
  return {
    name: "generated",
    setup: ({ onLoad }) => {
      for (const [source, text] of Object.entries(contents)) {
        const filter = new RegExp(`/${source.replaceAll(".", "\\.")}$`);
        onLoad({ filter }, () => ({ contents: text }));
      }
    },
  };
}

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
 * Makes each chunk a file. esbuild puts the modules into one file that the same entries import, so each entry imports
 * all modules of its chunks.
 */
function wholeChunks(chunks: readonly Chunk[]): Plugin {
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

/** Bundles every entry into a folder, which must have the dependencies above it. */
export async function bundle(folder: string): Promise<void> {
  const entries = entrySources();
  const content = await generated();
  const options = {
    absWorkingDir: root,
    outbase: ".",
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    packages: "external",
    chunkNames: "chunks/[name]-[hash]",
    logLevel: "warning",
    logOverride: { "ignored-bare-import": "silent" },
  } satisfies BuildOptions;
  const { metafile } = await build({
    ...options,
    entryPoints: entries,
    metafile: true,
    write: false,
    plugins: [content],
  });
  await build({
    ...options,
    entryPoints: entries.map(source => ({ in: source, out: source.replace(/\.ts$/, "") })),
    plugins: [wholeChunks(joinChunks(sharedChunks(metafile))), content],
  });
}

/** Writes the declarations of everything into a folder. */
export async function declare(folder: string): Promise<void> {
  const compiler = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));
  const { status } = spawnSync(
    process.execPath,
    [compiler, "-p", "runtime/tsconfig.build.json", "--outDir", folder],
    {
      cwd: root,
      stdio: "inherit",
    },
  );
  if (status !== 0) throw new Error("Cannot build: the declarations have errors");
  const client = `${resolve(root, folder)}/lib/client`;
  rmSync(`${client}/operations.d.ts`);
  for (const [name, text] of await areaDeclarations()) writeFileSync(`${client}/${name}`, text);
  appendFileSync(`${client}/mod.d.ts`, 'export type * from "./shared.ts";\n');
  slimDeclarations(
    resolve(root, folder),
    entrySources().map(source => source.replace(/\.ts$/, ".d.ts")),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  rmSync(`${root}dist`, { recursive: true, force: true });
  await bundle("dist");
  if (!process.argv.includes("--no-types")) await declare("dist");
}
