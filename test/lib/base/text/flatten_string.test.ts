import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { flattenString } from "../../../../lib/base/text/mod.ts";

const texts = 20_000;
/** Bytes that an engine adds to the characters of a flat text, with the reference to it. */
const headBytesMax = 48;

describe("a text in one piece", () => {
  it("is the same text", () => {
    for (const text of ["", "a", "é😀", JSON.stringify({ a: [1, "ü", null] }), "x".repeat(100_000)]) {
      assert.equal(flattenString(text), text);
    }
  });

  it("takes no more memory than its characters need", () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;
    // What else goes on in the process only adds, so the least of three counts.
    const measured = [1, 2, 3].map(() => {
      const retained: string[] = new Array(texts).fill("");
      collect();
      const before = process.memoryUsage().heapUsed;
      let characters = 0;
      for (let n = 0; n < texts; n++) {
        const text = flattenString(
          JSON.stringify({ n, name: "n".repeat(200), items: ["item", n, { of: "set" }] }),
        );
        characters += text.length;
        retained[n] = text;
      }
      // The collection of the young generation is the one that drops the trees behind flat texts.
      collect({ type: "minor" });
      collect();
      const bytes = process.memoryUsage().heapUsed - before;
      return retained.length === texts ? bytes - characters : Number.POSITIVE_INFINITY;
    });
    assert.ok(Math.min(...measured) < headBytesMax * texts, `${measured}`);
  });
});
