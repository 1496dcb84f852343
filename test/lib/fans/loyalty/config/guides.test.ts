/** The documents in the guides of the configuration and the engine can be used as they stand. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import { textOf } from "../../../../repo/files.ts";

describe("the documents in the guides", () => {
  for (const guide of [
    "lib/fans/loyalty/README.md",
    "lib/fans/loyalty/config/README.md",
    "lib/fans/loyalty/engine/README.md",
  ]) {
    it(`of ${guide} compile`, () => {
      const documents = [...textOf(guide).matchAll(/^```json\n([\s\S]*?)^```/gm)];
      assert.ok(documents.length > 0);
      for (const [, text = ""] of documents) {
        const { config } = compileConfig(JSON.parse(text));
        assert.ok(config.rules.length > 0);
      }
    });
  }
});
