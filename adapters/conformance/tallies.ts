/** Tests of tallies: named integers within guards. */
import { add, drop, home, must, tally } from "./build.ts";
import { equal } from "./expect.ts";
import type { Cases, StoreCase } from "./harness.ts";

const refused = { ok: false, because: "guard", key: "t" } as const;

export const tallyCases: Cases<StoreCase> = {
  async "a tally that was never added to is an empty map"({ store }) {
    equal(await store.read(home, [tally("t"), tally("t", ["a"])]), [new Map(), new Map()]);
  },

  async "a field starts at 0 and add returns its new value"({ store }) {
    equal((await must(store, add("t", "a", 5), add("t", "b", -3), add("t", "a", 2))).results, [5, -3, 7]);
    equal(await store.read(home, [tally("t")]), [
      new Map([
        ["a", 7],
        ["b", -3],
      ]),
    ]);
  },

  async "adding 0 creates the field"({ store }) {
    equal((await must(store, add("t", "a", 0))).results, [0]);
    equal(await store.read(home, [tally("t")]), [new Map([["a", 0]])]);
  },

  async "a field that returns to 0 still exists"({ store }) {
    equal((await must(store, add("t", "a", 5), add("t", "a", -5))).results, [5, 0]);
    equal(await store.read(home, [tally("t", ["a"])]), [new Map([["a", 0]])]);
  },

  async "reading named fields returns those that exist"({ store }) {
    await must(store, add("t", "a", 1), add("t", "b", 2), add("t", "c", 3));
    equal(await store.read(home, [tally("t", ["c", "missing", "a", "a"]), tally("t", [])]), [
      new Map([
        ["a", 1],
        ["c", 3],
      ]),
      new Map(),
    ]);
  },

  async "an add may reach its bounds exactly"({ store }) {
    equal(
      (await must(store, add("t", "a", 10, { max: 10 }), add("t", "a", -10, { min: 0 }))).results,
      [10, 0],
    );
  },

  async "an add beyond a bound refuses the commit and changes nothing"({ store }) {
    await must(store, add("t", "a", 5));
    equal(await store.commit(home, { writes: [add("t", "b", 1), add("t", "a", -6, { min: 0 })] }), refused);
    equal(await store.commit(home, { writes: [add("t", "b", 1), add("t", "a", 1, { max: 5 })] }), refused);
    equal(await store.read(home, [tally("t")]), [new Map([["a", 5]])]);
  },

  async "bounds apply to the result, even if nothing is added"({ store }) {
    equal(await store.commit(home, { writes: [add("t", "a", 0, { min: 1 })] }), refused);
    equal(await store.commit(home, { writes: [add("t", "a", 5, { min: 6 })] }), refused);
    equal(await store.read(home, [tally("t")]), [new Map()]);
  },

  async "each add of a batch keeps its own bounds"({ store }) {
    equal(await store.commit(home, { writes: [add("t", "a", -1, { min: 0 }), add("t", "a", 5)] }), refused);
    equal((await must(store, add("t", "a", 5), add("t", "a", -1, { min: 0 }))).results, [5, 4]);
  },

  async "a sum that leaves the safe integers refuses the commit"({ store }) {
    const top = Number.MAX_SAFE_INTEGER;
    equal((await must(store, add("t", "a", top), add("t", "b", -top))).results, [top, -top]);
    equal(await store.commit(home, { writes: [add("t", "a", 1)] }), refused);
    equal(await store.commit(home, { writes: [add("t", "a", top)] }), refused);
    equal(await store.commit(home, { writes: [add("t", "b", -1)] }), refused);
    equal(await store.read(home, [tally("t")]), [
      new Map([
        ["a", top],
        ["b", -top],
      ]),
    ]);
    equal((await must(store, add("t", "a", -top))).results, [0]);
  },

  async "a deleted tally starts anew, within one commit too"({ store }) {
    await must(store, add("t", "a", 5), add("t", "b", 5));
    equal((await must(store, drop("tally", "t"), add("t", "a", 1))).results, [null, 1]);
    equal(await store.read(home, [tally("t")]), [new Map([["a", 1]])]);
    equal((await must(store, add("t", "c", 1), drop("tally", "t"))).results, [1, null]);
    equal(await store.read(home, [tally("t")]), [new Map()]);
  },

  async "a map that was read is not the store's own"({ store }) {
    await must(store, add("t", "a", 1));
    const [first] = await store.read(home, [tally("t")]);
    const copy = new Map(first);
    await must(store, add("t", "a", 1), add("t", "b", 1));
    equal(first, copy);
  },
};
