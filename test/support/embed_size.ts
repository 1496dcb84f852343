/** The cost of having Grandstand in a program: the size of its bundle, and the time of its import. */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Sizes in bytes, minified and compressed by gzip -9. */
export interface EmbedSize {
  /** One file that holds everything. */
  readonly whole: number;
  /** Bytes that run at the start, when the bundler splits off modules that are loaded on first use. */
  readonly start: number;
}

/** Returns how many bytes of a page a browser loads before it asks for parts, compressed by gzip -9: its HTML, and the files that this names. */
export function firstLoadBytes(files: readonly { readonly name: string; readonly text: string }[]): number {
  const page = files.find(({ name }) => name === "")?.text ?? "";
  const loaded = files.filter(({ name }) => page.includes(`/${name}"`) || name === "");
  return loaded.reduce((sum, { text }) => sum + gzipSync(text, { level: 9 }).length, 0);
}

/** Returns how many bytes of a page's part a browser loads beside those of its first load: its file, and what that imports. */
export function partBytes(
  files: readonly { readonly name: string; readonly text: string }[],
  names: readonly string[],
): number {
  const page = files.find(({ name }) => name === "")?.text ?? "";
  const loaded = new Set<string>();
  let bytes = 0;
  const load = (name: string): void => {
    if (loaded.has(name) || page.includes(`/${name}"`)) return;
    loaded.add(name);
    const { text = "" } = files.find(each => each.name === name) ?? {};
    bytes += gzipSync(text, { level: 9 }).length;
    for (const [, next = ""] of text.matchAll(/(?:\bfrom|\bimport)"\.\/([^"]+)"/g)) load(next);
  };
  for (const start of names) load(files.find(({ name }) => name.startsWith(`${start}-`))?.name ?? "");
  return bytes;
}

/** Bundles `createPlatform` and `createMemoryStore` of a built package for any runtime. */
export async function embedSize(dist: string): Promise<EmbedSize> {
  return { whole: await bundledBytes(dist, false), start: await bundledBytes(dist, true) };
}

/** Returns the bytes that the entry loads before it runs. */
async function bundledBytes(dist: string, splitting: boolean): Promise<number> {
  const contents = [
    `export { createPlatform } from "${dist}/lib/mod.js";`,
    `export { createMemoryStore } from "${dist}/adapters/memory/mod.js";`,
  ].join("\n");
  const { metafile, outputFiles } = await build({
    stdin: { contents, resolveDir: dist },
    outdir: "out",
    bundle: true,
    splitting,
    minify: true,
    format: "esm",
    platform: "browser",
    legalComments: "none",
    external: ["node:*"],
    metafile: true,
    write: false,
    logLevel: "error",
  });
  const loaded = new Set<string>();
  const load = (path: string): void => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const { path: next, kind } of metafile.outputs[path]?.imports ?? []) {
      if (kind === "import-statement") load(next);
    }
  };
  load("out/stdin.js");
  const files = outputFiles.filter(({ path }) => [...loaded].some(name => path.endsWith(`/${name}`)));
  return files.reduce((bytes, { contents: code }) => bytes + gzipSync(code, { level: 9 }).length, 0);
}

/** Medians of the processor time in ms of importing a module, each time in a process of its own. */
interface ImportTimes {
  /** Of an empty module. */
  readonly base: number;
  /** Of the whole of a built package. */
  readonly whole: number;
}

/** Imports an empty module and the built package by turns. */
export function importMs(dist: string, samples: number): ImportTimes {
  const empty = `${dist}/empty.js`;
  writeFileSync(empty, "");
  const pairs = Array.from(
    { length: samples },
    () => [importOnce(empty), importOnce(`${dist}/lib/mod.js`)] as const,
  );
  return { base: median(pairs.map(pair => pair[0])), whole: median(pairs.map(pair => pair[1])) };
}

function importOnce(file: string): number {
  const program = `
    const before = process.cpuUsage();
    await import(${JSON.stringify(pathToFileURL(file).href)});
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1_000);`;
  // The options of the tests would count, too: maps of sources are read while modules load.
  const env = { ...process.env, NODE_OPTIONS: "" };
  return Number(
    execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8", env }),
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
