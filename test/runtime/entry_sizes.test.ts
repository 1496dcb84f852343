/** What entries of the package cost: bytes in a bundle, files in a process. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { builtPackage } from "./runtimes.ts";

/** Most bytes of each entry with all that it imports but optional packages, minified and compressed by gzip -9. */
const budgets: Readonly<Record<string, number>> = {
  ".": 345_500,
  "./http": 30_300,
  "./auth": 35_000,
  "./storage": 8_000,
  "./directory": 18_000,
  "./identity": 95_000,
  "./location": 8_400,
  "./leaderboards": 37_900,
  "./dialogue": 10_900,
  "./control": 103_600,
  "./client": 10_800,
  "./react": 1_200,
  "./show": 79_500,
  "./studio": 237_000,
  "./audience": 96_000,
  "./loyalty": 115_000,
  "./exports": 36_000,
  "./docs": 271_000,
  "./export-file": 9_900,
  "./memory": 15_600,
  "./file": 17_600,
  "./redis": 27_000,
  "./postgres": 23_500,
  "./s3": 6_700,
  "./geo": 6_400,
  "./mail": 3_300,
  "./outbound": 2_600,
  "./webhook": 2_400,
  "./native": 900,
  "./conformance": 28_500,
  "./metrics": 4_700,
  "./tracing": 1_500,
  "./workflow": 37_500,
  "./workflow/conformance": 14_700,
  "./workflow/examples": 40_600,
  "./workflow/testing": 429_000,
  "./testing": 434_000,
  "./node": 9_100,
  "./bun": 3_100,
  "./deno": 2_800,
};

const root = fileURLToPath(new URL("../../", import.meta.url));
const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};

/** Bundles every entry on its own. Returns bytes by the name of the entry. */
async function sizes(): Promise<Readonly<Record<string, number>>> {
  const dist = builtPackage();
  const entries = Object.entries(manifest.exports).flatMap(([name, entry]) =>
    typeof entry === "string" ? [] : [[name, entry.default.replace("./dist/", "")] as const],
  );
  const { outputFiles } = await build({
    entryPoints: entries.map(([, file]) => `${dist}/${file}`),
    outbase: dist,
    outdir: "/out",
    bundle: true,
    minify: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    external: ["node:*", ...Object.keys(manifest.peerDependencies)],
    legalComments: "none",
    write: false,
    logLevel: "error",
  });
  const bytes = new Map(
    outputFiles.map(({ path, contents }) => [
      relative("/out", path),
      gzipSync(contents, { level: 9 }).length,
    ]),
  );
  return Object.fromEntries(entries.map(([name, file]) => [name, bytes.get(file) ?? 0]));
}

/** What a file of the package loads before it runs. */
function startOf(entry: string): {
  readonly files: number;
  readonly bytes: number;
  readonly packages: readonly string[];
} {
  const packages = new Set<string>();
  const files = new Map<string, number>();
  const load = (path: string): void => {
    if (files.has(path)) return;
    const text = readFileSync(path, "utf8");
    files.set(path, text.length);
    for (const [, name = ""] of text.matchAll(/^(?:import|\}|export \*)[^"\n]* ?"([^"\n]+)";$/gm)) {
      if (name.startsWith(".")) load(join(path, "..", name));
      else packages.add(/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? "");
    }
  };
  load(`${builtPackage()}/${entry}`);
  return {
    files: files.size,
    bytes: [...files.values()].reduce((sum, size) => sum + size, 0),
    packages: [...packages].toSorted(),
  };
}

describe("the entries of the package", () => {
  it("stay in their budgets of bytes, which leave a tenth at most", async () => {
    const found = await sizes();
    assert.deepEqual(Object.keys(found).toSorted(), Object.keys(budgets).toSorted());
    const outside = Object.entries(found).filter(([name, bytes]) => {
      const budget = budgets[name] ?? 0;
      return bytes > budget || bytes < budget * 0.8;
    });
    assert.deepEqual(outside, []);
  });

  it("load few files before they run, and packages only for themselves", () => {
    assert.deepEqual(startOf("lib/mod.js").packages, ["@noble/hashes", "itty-router", "valibot"]);
    assert.deepEqual(startOf("adapters/memory/mod.js").packages, []);
    assert.deepEqual(startOf("lib/client/mod.js").packages, []);
    const most = {
      "lib/mod.js": [40, 1_800_000],
      "lib/client/mod.js": [5, 75_000],
      "lib/client/react.js": [3, 6_500],
      "adapters/memory/mod.js": [7, 170_000],
      "adapters/outbound/webhook.js": [6, 39_000],
      "runtime/cli.js": [9, 75_000],
    } as const;
    for (const [file, [filesMax, bytesMax]] of Object.entries(most)) {
      const { files, bytes } = startOf(file);
      assert.ok(files <= filesMax && bytes <= bytesMax, `${file} loads ${files} files of ${bytes} bytes`);
      assert.ok(bytes > bytesMax * 0.8, `${file} loads ${bytes} bytes`);
    }
  });
});
