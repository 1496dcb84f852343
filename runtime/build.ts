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
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { areaDeclarations } from "./declarations/mod.ts";
import { slimDeclarations } from "./declarations/slim.ts";
import { buildDocs, buildPage, buildShow } from "./services/pages.ts";
import { wholeChunks } from "./whole_chunks.ts";

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
    plugins: [wholeChunks(root, metafile), content],
  });
}

/** Writes the declarations of everything into a folder. */
export async function declare(folder: string): Promise<void> {
  const compiler = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));
  const { status } = spawnSync(
    process.execPath,
    [compiler, "-p", "runtime/tsconfig.build.json", "--outDir", folder, "--checkers", "1"],
    { cwd: root, stdio: "inherit" },
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
