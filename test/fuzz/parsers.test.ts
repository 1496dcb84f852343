/** No text makes a parser throw what it does not document, take longer than its length explains, or lose what it printed. */

import { describe, it } from "node:test";
import { sampleSize } from "../support/full.ts";
import { checkGrowth, checkText, fuzz } from "./_run.ts";
import { targets } from "./_targets.ts";

const cases = sampleSize(600, 150);

for (const target of targets) {
  describe(`the parser of ${target.name}`, () => {
    it("takes valid texts, and those that once failed", async () => {
      for (const text of [...target.seeds, ...(target.kept ?? [])]) await checkText(target, text);
    });

    it("takes or refuses random texts", () => fuzz(target, 1, cases));

    it("takes a time in proportion to the length", () => checkGrowth(target, 1));
  });
}
