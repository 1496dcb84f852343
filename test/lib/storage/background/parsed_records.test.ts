import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ParsedRecords } from "../../../../lib/storage/background/mod.ts";

describe("parsed records", () => {
  const parser = (): { parsed: ParsedRecords<{ text: string }>; texts: string[] } => {
    const texts: string[] = [];
    const parse = (text: string): { text: string } => {
      texts.push(text);
      return { text };
    };
    return { parsed: new ParsedRecords(parse, 4), texts };
  };

  it("are the same object while the version is the same, and new with another", () => {
    const { parsed, texts } = parser();
    const first = parsed.of("a", { version: "1", value: "x" });
    assert.equal(parsed.of("a", { version: "1", value: "x" }), first);
    assert.deepEqual(parsed.of("a", { version: "2", value: "y" }), { text: "y" });
    assert.notEqual(parsed.of("a", { version: "1", value: "x" }), first);
    assert.deepEqual(texts, ["x", "y", "x"]);
  });

  it("are distinguished by name", () => {
    const { parsed } = parser();
    assert.equal(parsed.of("a", { version: "1", value: "x" }).text, "x");
    assert.equal(parsed.of("b", { version: "1", value: "y" }).text, "y");
  });

  it("are bounded, and those in use stay", () => {
    const { parsed, texts } = parser();
    for (let index = 0; index < 100; index++) {
      parsed.of("hot", { version: "1", value: "hot" });
      parsed.of(`cold ${index}`, { version: "1", value: "cold" });
      assert.ok(parsed.size <= 4, String(parsed.size));
    }
    assert.equal(texts.filter(text => text === "hot").length, 1);
  });
});
