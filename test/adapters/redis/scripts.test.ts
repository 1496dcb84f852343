import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { generate, target } from "./generate_scripts.ts";

const folder = new URL("../../../adapters/redis/", import.meta.url);
const files = readdirSync(folder).filter(file => file.endsWith(".lua"));

describe("the Lua scripts", () => {
  it("are what scripts.ts was generated from", () => {
    const hint = "run: node --import tsx test/adapters/redis/generate_scripts.ts";
    assert.equal(readFileSync(target, "utf8"), generate(), hint);
  });

  for (const file of files) {
    it(`state in ${file} their purpose, keys and answer, and build no key`, () => {
      const source = readFileSync(new URL(file, folder), "utf8");
      for (const heading of ["-- Purpose: ", "-- KEYS: ", "-- Returns: "])
        assert.ok(source.includes(heading), heading);
      if (/ARGV/.test(source.replace(/^--.*$/gm, ""))) assert.ok(source.includes("-- ARGV: "), "-- ARGV: ");
      assert.doesNotMatch(source, /cjson|KEYS\[[^\]]+\] \.\./);
      assert.ok(
        source.split("\n").every(line => line.length <= 120),
        "a line is too long",
      );
    });
  }
});
