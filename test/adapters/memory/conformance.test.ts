import { describe, it } from "node:test";
import { conformance } from "../../../adapters/conformance/mod.ts";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { createTestClock } from "../../support/clock.ts";

describe("the memory store conforms to the storage contract", () => {
  conformance({
    describe,
    it,
    factory: () => {
      const clock = createTestClock();
      const store = createMemoryStore({ clock: clock.now });
      return { store, clock, dispose: async () => store[Symbol.asyncDispose]() };
    },
  });
});
