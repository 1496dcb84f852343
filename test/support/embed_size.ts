/** The size of a platform in memory as an embedder bundles it. */

import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** Sizes in bytes, minified and compressed by gzip -9. */
export interface EmbedSize {
  /** One file that holds everything. */
  readonly whole: number;
  /** Bytes that run at the start, when the bundler splits off modules that are loaded on first use. */
  readonly start: number;
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
