import { describe, it } from "node:test";
import { conformance } from "../../adapters/conformance/mod.ts";
import { ReferenceModel } from "../../adapters/conformance/reference.ts";
import { ReferenceStore } from "../../adapters/conformance/reference_store.ts";
import { createTestClock } from "../support/clock.ts";

describe("the conformance suite accepts the reference model", () => {
  conformance({
    describe,
    it,
    factory() {
      const clock = createTestClock();
      const model = new ReferenceModel(clock.now);
      return { store: new ReferenceStore(model), peer: new ReferenceStore(model), clock, dispose() {} };
    },
  });
});
