/** The generated part of the typed client, and the size of a bundle with it. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { clientFiles, generatedFolder } from "../../../runtime/client_types/mod.ts";
import { files, textOf } from "../../repo/files.ts";

/** Most bytes of a fan's client with identity, loyalty and leaderboards, minified and compressed. */
const gzipBytesMax = 8 * 1_024;
const resolveDir = fileURLToPath(new URL("../../..", import.meta.url));

async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir, loader: "ts" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    packages: "external",
    write: false,
    logLevel: "silent",
  });
  return outputFiles[0]?.text ?? "";
}

describe("the typed client", () => {
  it("has the operations and types of the OpenAPI document: `npm run client-types` makes them", async () => {
    const made = await clientFiles();
    const checkedIn = files.filter(file => file.startsWith(`${generatedFolder}/`));
    assert.deepEqual(
      checkedIn.map(file => file.slice(generatedFolder.length + 1)).toSorted(),
      [...made.keys()].toSorted(),
    );
    const stale = [...made].filter(([name, text]) => textOf(`${generatedFolder}/${name}`) !== text);
    assert.deepEqual(
      stale.map(([name]) => name),
      [],
      "run `npm run client-types`",
    );
  });

  it(`has at most ${gzipBytesMax} bytes for identity, loyalty and leaderboards, and no area that nobody asked for`, async () => {
    const text = await bundle(`
      import { createFanClient, identity, leaderboards, loyalty } from "./lib/client/mod.ts";
      const areas = { identity, leaderboards, loyalty };
      globalThis.fan = createFanClient({ url: location.origin, projectId: "p", storage: localStorage, areas });
    `);
    const { length } = gzipSync(text, { level: 9 });
    assert.ok(length > 4_000 && length <= gzipBytesMax, `${length} bytes`);
    assert.doesNotMatch(text, /api\/v2|api\/audience/);
    assert.doesNotMatch(text, /\bimport\b|node:/, "a browser loads it as it is");
  });
});
