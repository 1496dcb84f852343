import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { conformance } from "../../../adapters/conformance/mod.ts";
import { openFileStore } from "../../../adapters/file/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { isLongRun } from "../../support/full.ts";

describe("the memory store with a file journal conforms to the storage contract", () => {
  conformance({
    describe,
    it,
    seeds: isLongRun ? [1, 2, 3, 4] : [1],
    factory: async () => {
      const clock = createTestClock();
      const directory = await mkdtemp(join(tmpdir(), "grandstand-journal-"));
      const store = await openFileStore(directory, { clock: clock.now, compactBytesMin: 20_000 });
      const dispose = async () => {
        await store[Symbol.asyncDispose]();
        await rm(directory, { recursive: true });
      };
      return { store, clock, dispose };
    },
  });
});
