/** Sizes of what people load, beside the table of benchmarks. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { buildPage, buildShow } from "../../runtime/services/pages.ts";
import { assertTableSays } from "../support/bench_table.ts";
import { embedSize, firstLoadBytes, importMs } from "../support/embed_size.ts";
import { skipUnlessFull } from "../support/full.ts";
import { builtPackage } from "./runtimes.ts";

describe("the bundle of a platform in memory", () => {
  it("stays small, minified and compressed, and is as large as the table says", async () => {
    const { whole, start } = await embedSize(builtPackage());
    assert.ok(whole > 100_000 && whole <= 345_500, `${whole} bytes in one file`);
    assert.ok(start > 100_000 && start <= 307_500, `${start} bytes at the start, when split`);
    assertTableSays("bundle of a platform in memory", [whole / 1_000, start / 1_000]);
  });
});

describe("the import of the package", { skip: skipUnlessFull("the time of an import") }, () => {
  it("takes at most 35 times that of an empty module", () => {
    const { base, whole } = importMs(builtPackage(), 7);
    assert.ok(whole <= 35 * base, `${whole} ms, an empty module ${base} ms`);
  });
});

describe("the page of the studio", () => {
  it("is as large as the table says", async () => {
    const files = await buildPage();
    assertTableSays("studio: page, script and style", [firstLoadBytes(files) / 1_024]);
  });
});

describe("the page of the show", () => {
  it("stays in its budgets, and is as large as the table says", async () => {
    const files = await buildShow();
    const kilobytes = (name: RegExp): number =>
      files
        .filter(file => name.test(file.name))
        .reduce((sum, { text }) => sum + gzipSync(text, { level: 9 }).length / 1_024, 0);
    const script = kilobytes(/^(main|chunk)-/);
    const style = kilobytes(/^style-/);
    const later = kilobytes(/^more-/);
    const element = kilobytes(/^embed\.js$/);
    assert.ok(script > 10 && script <= 36, `${script} KB of script`);
    assert.ok(style > 1 && style <= 6, `${style} KB of style`);
    assert.ok(later > 1 && later <= 18, `${later} KB of board, me, shop and sign-in`);
    assert.ok(element > 0.3 && element <= 1.5, `${element} KB of the element`);
    assertTableSays("show: script, style", [script, style, later, element]);
  });
});
