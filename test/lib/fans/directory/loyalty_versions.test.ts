import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import {
  createLoyaltyVersions,
  documentDigest,
  loyaltyBytesMax,
} from "../../../../lib/fans/directory/loyalty_versions.ts";
import { tenantPartition } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { ids } from "../../../support/platform.ts";
import { describeOnStores } from "../../../support/stores.ts";

describe("the digest of a document", () => {
  it("is the SHA-256 of the canonical form that RFC 8785 gives", () => {
    const sample = {
      numbers: [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
      literals: [null, true, false],
    };
    assert.equal(
      documentDigest(sample),
      "sha256:2d5e01a318d0f0879ab568c4be289c8b1f64ef8921a53c6277d5e069978baacb",
    );
  });

  it("does not depend on the order of members, and depends on everything else", () => {
    assert.equal(
      documentDigest({ a: 1, b: { d: [1, 2], c: "x" } }),
      documentDigest({ b: { c: "x", d: [1, 2] }, a: 1 }),
    );
    const digests = [{}, [], null, "", 0, { a: 1 }, { a: "1" }, { a: [1] }, { b: 1 }, [2, 1], [1, 2]].map(
      documentDigest,
    );
    assert.equal(new Set(digests).size, digests.length);
  });
});

const spacePartition = tenantPartition({ space: ids.space }, "directory");

describeOnStores("versions of a loyalty configuration", open => {
  async function opened(t: { after(close: () => unknown): void }) {
    const clock = createTestClock();
    const store = await open(clock.now);
    t.after(() => store[Symbol.asyncDispose]());
    return { clock, store, versions: createLoyaltyVersions({ store, clock: clock.now }) };
  }

  const numbered = (n: number): unknown => ({ metrics: [{ id: `m${n}`, title: "M" }] });

  it("count up from one, and say who made them and when", async t => {
    const { clock, versions } = await opened(t);
    assert.equal(await versions.current(ids.space), null);
    assert.deepEqual(await versions.list(ids.space), []);
    const first = await versions.put(ids.space, { document: numbered(1), by: "file" });
    const startedAt = clock.now();
    clock.advance(5_000);
    const second = await versions.put(ids.space, { document: numbered(2), by: "apiKey:k" });
    assert.deepEqual(
      [first, second],
      [
        {
          version: { number: 1, digest: documentDigest(numbered(1)), at: startedAt, by: "file" },
          isNew: true,
          isFirst: true,
        },
        {
          version: { number: 2, digest: documentDigest(numbered(2)), at: startedAt + 5_000, by: "apiKey:k" },
          isNew: true,
          isFirst: false,
        },
      ],
    );
    assert.deepEqual(await versions.list(ids.space), [second.version, first.version]);
    assert.deepEqual(await versions.current(ids.space), { ...second.version, document: numbered(2) });
    assert.deepEqual(await versions.get(ids.space, 1), { ...first.version, document: numbered(1) });
    assert.deepEqual(await versions.get(ids.space, 2), { ...second.version, document: numbered(2) });
    assert.equal(await versions.get(ids.space, 3), null);
    assert.equal(await versions.current(ids.otherSpace), null);
  });

  it("are not made by a document that is equal to the current one, in whatever order its members are", async t => {
    const { clock, versions } = await opened(t);
    const { version } = await versions.put(ids.space, { document: { metrics: [], rules: [] }, by: "file" });
    clock.advance(1);
    const again = await versions.put(ids.space, { document: { rules: [], metrics: [] }, by: "seed" });
    assert.deepEqual(again, { version, isNew: false, isFirst: false });
    assert.deepEqual(await versions.list(ids.space), [version]);
  });

  it(`are numbers up to 50, and the oldest is dropped first`, async t => {
    const { store, versions } = await opened(t);
    for (let n = 1; n <= 50 + 2; n++) {
      await versions.put(ids.space, { document: numbered(n), by: "file" });
    }
    const numbers = (await versions.list(ids.space)).map(({ number }) => number);
    assert.deepEqual(
      numbers,
      Array.from({ length: 50 }, (_, index) => 50 + 2 - index),
    );
    assert.equal(await versions.get(ids.space, 2), null);
    assert.deepEqual((await versions.get(ids.space, 3))?.document, numbered(3));
    const [dropped] = await store.read(spacePartition, [{ type: "record", key: "loyalty:2" }]);
    assert.equal(dropped, null);
  });

  it("let exactly one of many racing changes pass that were made for the same version", async t => {
    const { store, clock, versions } = await opened(t);
    await versions.put(ids.space, { document: numbered(0), by: "file" });
    const processes = [versions, createLoyaltyVersions({ store, clock: clock.now })];
    const outcomes = await Promise.allSettled(
      Array.from({ length: 16 }, (_, n) =>
        (processes[n % 2] ?? versions).put(ids.space, {
          document: numbered(n + 1),
          by: "file",
          admit: current => {
            if (current?.number !== 1) throw new AppError("precondition_failed", "Moved on");
          },
        }),
      ),
    );
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
    assert.equal((await versions.current(ids.space))?.number, 2);
  });

  it(`take documents of up to ${loyaltyBytesMax} bytes`, async t => {
    const { versions } = await opened(t);
    const sized = (bytes: number): unknown => ({ x: "é".repeat((bytes - 8) / 2) });
    await versions.put(ids.space, { document: sized(loyaltyBytesMax), by: "file" });
    await assert.rejects(versions.put(ids.space, { document: sized(loyaltyBytesMax + 2), by: "file" }), {
      code: "payload_too_large",
    });
    assert.equal((await versions.list(ids.space)).length, 1);
  });
});
