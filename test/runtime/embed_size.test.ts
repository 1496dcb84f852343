import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { bundle } from "../../runtime/build.ts";
import { embedSize } from "../support/embed_size.ts";

/** Inside node_modules, so that the package finds its dependencies. */
const folder = fileURLToPath(
  new URL(`../../node_modules/.cache/grandstand/embed-${process.pid}`, import.meta.url),
);

describe("the bundle of a platform in memory", () => {
  it("stays small, minified and compressed", async t => {
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    await bundle(folder);
    const { whole, start } = await embedSize(folder);
    assert.ok(whole > 100_000 && whole <= 272_000, `${whole} bytes in one file`);
    assert.ok(start > 100_000 && start <= 252_000, `${start} bytes at the start, when split`);
  });
});
