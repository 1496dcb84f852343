import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ConformanceError, conformance } from "../../../adapters/conformance/mod.ts";
import { ReferenceModel, ReferenceStore } from "../../../adapters/conformance/reference.ts";
import { createTestClock } from "../../support/clock.ts";
import { brokenStores } from "./broken_stores.ts";
import { collect, outcome } from "./suite.ts";

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

describe("the conformance suite rejects a store that", () => {
  for (const { name, caughtBy, random, create } of brokenStores) {
    it(name, async () => {
      const cases = collect(runner =>
        conformance({
          ...runner,
          seeds: [1],
          factory() {
            const clock = createTestClock();
            return { store: create(clock.now), clock, dispose() {} };
          },
        }),
      );
      const error = await outcome(cases, caughtBy);
      assert.ok(error instanceof ConformanceError, `${caughtBy} says ${error}`);
      const found = await outcome(cases, "random runs › a random run with the seed 1");
      assert.equal(found !== null, random, `the random run says ${found?.message}`);
      if (found !== null) assert.match(found.message, /^seed 1, step \d+: /);
    });
  }
});

describe("the conformance suite", () => {
  it("disposes of each fixture, also after a failure", async () => {
    let open = 0;
    function dispose(): void {
      open -= 1;
    }
    const cases = collect(runner =>
      conformance({
        ...runner,
        factory() {
          open += 1;
          const clock = createTestClock();
          const store = new ReferenceStore(new ReferenceModel(clock.now));
          store.ping = () => Promise.reject(new Error("no answer"));
          return { store, clock, dispose };
        },
      }),
    );
    assert.equal((await outcome(cases, "commits › the store answers a ping"))?.message, "no answer");
    assert.equal(await outcome(cases, "records › an empty value is a value"), null);
    assert.equal(open, 0);
  });

  it("registers the same cases under names of their own every time", () => {
    const names = () => [
      ...collect(runner =>
        conformance({ ...runner, factory: () => Promise.reject(new Error("unused")) }),
      ).keys(),
    ];
    assert.deepEqual(names(), names());
    assert.ok(names().length > 100, `${names().length} cases`);
  });
});
