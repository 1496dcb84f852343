import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decide } from "../../../lib/storage/mod.ts";
import { ProbeStore } from "../../support/probe_store.ts";
import { home, increment } from "./_rules.ts";

async function turn(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve));
}

function held(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>(settle => {
    resolve = settle;
  });
  return { promise, resolve };
}

describe("decide with something that must have happened before", () => {
  it("reads meanwhile, and commits afterwards", async () => {
    const store = new ProbeStore();
    const { promise: ready, resolve } = held();
    const decided = decide(store, home, { ...increment(), ready });
    await turn();
    assert.deepEqual([store.reads.length, store.commits.length], [1, 0]);
    resolve();
    assert.equal(await decided, 1);
    assert.equal(store.commits.length, 1);
  });

  it("rejects as that does, writes nothing, and continues with the others of its round", async () => {
    const store = new ProbeStore();
    const failure = new Error("not registered");
    const all = await Promise.allSettled([
      decide(store, home, increment()),
      decide(store, home, { ...increment(), ready: Promise.reject(failure) }),
      decide(store, home, increment()),
    ]);
    assert.deepEqual(
      all.map(one => (one.status === "fulfilled" ? one.value : one.reason)),
      [1, failure, 2],
    );
    assert.equal(await decide(store, home, increment()), 3);
  });

  it("rejects alone too, and while it waits for its turn", async () => {
    const store = new ProbeStore();
    const ready = Promise.reject(new Error("not registered"));
    await assert.rejects(decide(store, home, { ...increment(), ready }), /not registered/);
    const { promise: slow, resolve } = held();
    const first = decide(store, home, { ...increment(), ready: slow });
    await turn();
    const second = decide(store, home, { ...increment(), ready: Promise.reject(new Error("not yet")) });
    await turn();
    resolve();
    await assert.rejects(second, /not yet/);
    assert.equal(await first, 1);
    assert.equal(store.commits.length, 1);
  });
});
