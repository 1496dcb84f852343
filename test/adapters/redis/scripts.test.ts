import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";

const folder = new URL("../../../adapters/redis/", import.meta.url);
const scripts = readdirSync(folder)
  .filter(file => file.endsWith(".ts"))
  .flatMap(file => {
    const text = readFileSync(new URL(file, folder), "utf8");
    const found = text.matchAll(/^(?:export )?const (\w+) = scriptOf\(`\n([^`]*)`\);$/gm);
    return [...found].map(([, name = "", source = ""]) => ({ name, source }));
  });

describe("the Lua scripts", () => {
  it("are found at all", () => {
    assert.equal(scripts.length, 12);
  });

  for (const { name, source } of scripts) {
    it(`state in ${name} their purpose, keys and answer, and build no key`, () => {
      const header = /^(--[^\n]*\n)+/.exec(source)?.[0] ?? "";
      for (const heading of ["-- Purpose: ", "-- KEYS: ", "-- Returns: "])
        assert.ok(header.includes(heading), heading);
      if (/ARGV/.test(source.replace(/^--.*$/gm, ""))) assert.ok(header.includes("-- ARGV: "), "-- ARGV: ");
      assert.doesNotMatch(source, /cjson|KEYS\[[^\]]+\] \.\./);
      assert.ok(
        source.split("\n").every(line => line.length <= 120),
        "a line is too long",
      );
    });
  }
});
