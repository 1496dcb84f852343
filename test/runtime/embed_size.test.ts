import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { embedSize } from "../support/embed_size.ts";
import { builtPackage } from "./runtimes.ts";

describe("the bundle of a platform in memory", () => {
  it("stays small, minified and compressed", async () => {
    const { whole, start } = await embedSize(builtPackage());
    assert.ok(whole > 100_000 && whole <= 318_000, `${whole} bytes in one file`);
    assert.ok(start > 100_000 && start <= 288_000, `${start} bytes at the start, when split`);
  });
});
