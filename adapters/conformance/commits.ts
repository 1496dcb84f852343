/** Commits: checks, order of writes, and all or nothing. */
import type { Check, Write } from "../../lib/storage/contract.ts";
import type { Cases, StoreCase } from "./harness.ts";
import {
  add,
  append,
  board,
  drop,
  equal,
  home,
  log,
  must,
  mustAt,
  ok,
  put,
  record,
  score,
  tally,
  unscore,
} from "./harness.ts";

export const commitCases: Cases<StoreCase> = {
  async "the store answers a ping"({ store, peer }) {
    await store.ping();
    await peer.ping();
  },

  async "an empty commit and an empty read succeed"({ store }) {
    equal((await mustAt(store, home, { writes: [] })).results, []);
    equal((await mustAt(store, home, { checks: [], writes: [] })).results, []);
    equal(await store.read(home, []), []);
  },

  async "checks without writes report their result"({ store }) {
    const { version } = await must(store, put("a", "1"));
    equal((await store.commit(home, { checks: [{ key: "a", version }], writes: [] })).ok, true);
    equal(await store.commit(home, { checks: [{ key: "a", version: null }], writes: [] }), lost("a"));
    equal(await store.read(home, [record("a")]), [{ value: "1", version }]);
  },

  async "a check of the current version lets the commit through, an old one does not"({ store }) {
    const first = await must(store, put("a", "1"));
    const second = await mustAt(store, home, {
      checks: [{ key: "a", version: first.version }],
      writes: [put("a", "2")],
    });
    equal(
      await store.commit(home, { checks: [{ key: "a", version: first.version }], writes: [put("a", "3")] }),
      lost("a"),
    );
    equal(await store.read(home, [record("a")]), [{ value: "2", version: second.version }]);
  },

  async "a check for absence fails on a record that is there"({ store }) {
    await mustAt(store, home, { checks: [{ key: "a", version: null }], writes: [put("a", "1")] });
    equal(
      await store.commit(home, { checks: [{ key: "a", version: null }], writes: [put("a", "2")] }),
      lost("a"),
    );
    await must(store, drop("record", "a"));
    await mustAt(store, home, { checks: [{ key: "a", version: null }], writes: [put("a", "3")] });
  },

  async "a check of some version fails on a record that is absent"({ store }) {
    const { version } = await must(store, put("a", "1"), put("b", "1"));
    await must(store, drop("record", "a"));
    equal(await store.commit(home, { checks: [{ key: "a", version }], writes: [] }), lost("a"));
    equal(await store.commit(home, { checks: [{ key: "never", version }], writes: [] }), lost("never"));
    equal(await store.commit(home, { checks: [{ key: "b", version: "" }], writes: [] }), lost("b"));
    equal(await store.commit(home, { checks: [{ key: "b", version: "nonsense" }], writes: [] }), lost("b"));
  },

  async "every check must hold and the first that does not is named"({ store }) {
    const { version } = await must(store, put("a", "1"), put("b", "1"));
    const checks: Check[] = [
      { key: "a", version },
      { key: "c", version },
      { key: "b", version: null },
    ];
    equal(await store.commit(home, { checks, writes: [put("a", "2")] }), lost("c"));
    equal(await store.commit(home, { checks: checks.toReversed(), writes: [put("a", "2")] }), lost("b"));
  },

  async "a record may be checked without being written and written without being checked"({ store }) {
    const { version } = await must(store, put("a", "1"));
    await mustAt(store, home, { checks: [{ key: "a", version }], writes: [put("b", "2")] });
    await must(store, put("a", "3"));
    equal(await store.commit(home, { checks: [{ key: "a", version }], writes: [put("b", "4")] }), lost("a"));
  },

  async "checks see the state before the writes of their own commit"({ store }) {
    const { version } = await must(store, put("a", "1"));
    await mustAt(store, home, {
      checks: [
        { key: "a", version },
        { key: "b", version: null },
      ],
      writes: [drop("record", "a"), put("b", "1")],
    });
  },

  async "a check that a field is absent fails once the field exists, whatever its value"({ store }) {
    const check = (absent: string, key = "t"): Check => ({ key, absent });
    await mustAt(store, home, { checks: [check("x")], writes: [add("t", "x", 1)] });
    equal(await store.commit(home, { checks: [check("x")], writes: [add("t", "x", 1)] }), lost("t"));
    await must(store, add("t", "x", -1), put("u", "1"));
    equal(await store.commit(home, { checks: [check("y"), check("x")], writes: [] }), lost("t"));
    equal(await store.read(home, [tally("t")]), [new Map([["x", 0]])]);
    await mustAt(store, home, { checks: [check("y"), check("x", "u")], writes: [drop("tally", "t")] });
    await mustAt(store, home, { checks: [check("x"), check("x")], writes: [add("t", "x", 2)] });
    const mixed: Check[] = [check("!x"), { key: "u", version: null }, check("x")];
    equal(await store.commit(home, { checks: mixed, writes: [] }), lost("u"));
    equal(await store.commit(home, { checks: mixed.toReversed(), writes: [] }), lost("t"));
  },

  async "a failed check is reported before a guard"({ store }) {
    const writes = [add("t", "x", 1, { max: 0 })];
    equal(await store.commit(home, { checks: [{ key: "a", version: "1" }], writes }), lost("a"));
  },

  async "a later write of a commit sees an earlier one"({ store }) {
    const { version, results } = await must(
      store,
      put("a", "1"),
      drop("record", "a"),
      put("a", "2"),
      put("a", "3"),
      put("gone", "1"),
      drop("record", "gone"),
      add("t", "x", 4),
      drop("tally", "t"),
      add("t", "x", 1),
      score("b", "m", 9, { tie: 3 }),
      drop("board", "b"),
      score("b", "m", 1, { op: "add" }),
      append("l", "1", 500),
      drop("log", "l"),
      append("l", "2", 400),
    );
    equal(results.slice(0, 12), [null, null, null, null, null, null, 4, null, 1, 9, null, 1]);
    equal(await store.read(home, [record("a"), record("gone"), tally("t"), board("b"), log("l")]), [
      { value: "3", version },
      null,
      new Map([["x", 1]]),
      { entries: [{ member: "m", score: 1, tie: 0 }], size: 1 },
      [{ id: results[14], at: 400, value: "2" }],
    ]);
  },

  async "the results stand in the order of the writes"({ store }) {
    const { results } = await must(
      store,
      append("l", "1", 500),
      put("a", "1"),
      add("t", "x", 3),
      score("b", "m", 1.5),
      unscore("b", "m"),
      drop("log", "none"),
      append("l", "2", 500),
    );
    equal(results.slice(1, 6), [null, 3, 1.5, null, null]);
    const [entries] = await store.read(home, [log("l")]);
    equal(
      [results[0], results[6]],
      entries.map(({ id }) => id),
    );
  },

  async "a refused commit leaves every shape as it was"({ store }) {
    const everything = [record("a"), record("n"), tally("t"), board("b"), log("l")] as const;
    const { version } = await must(
      store,
      put("a", "1"),
      add("t", "x", 1),
      score("b", "m", 1, { tie: 2, asOf: 3 }),
      append("l", "1", 500),
    );
    const before = await store.read(home, everything);
    const effects: Write[] = [
      put("a", "2"),
      put("n", "2"),
      add("t", "x", 1),
      add("t", "y", 1),
      score("b", "m", 7, { asOf: 9 }),
      score("b", "n", 1),
      unscore("b", "m"),
      append("l", "2", 600, 1),
      drop("record", "a"),
      drop("tally", "t"),
      drop("board", "b"),
      drop("log", "l"),
    ];
    for (const write of effects) {
      equal(await store.commit(home, { writes: [write, add("guard", "x", -1, { min: 0 })] }), {
        ok: false,
        because: "guard",
        key: "guard",
      });
      equal(await store.commit(home, { checks: [{ key: "a", version: null }], writes: [write] }), lost("a"));
    }
    equal(await store.commit(home, { writes: [...effects, add("guard", "x", -1, { min: 0 })] }), {
      ok: false,
      because: "guard",
      key: "guard",
    });
    equal(await store.read(home, everything), before);
    equal(await store.read(home, [tally("guard")]), [new Map()]);
    equal(
      (await must(store, score("b", "m", 5, { asOf: 4 }))).results,
      [5],
      "the version of a refused score was remembered",
    );
    equal((await store.commit(home, { checks: [{ key: "a", version }], writes: [] })).ok, true);
  },

  async "shapes have separate key spaces"({ store }) {
    const { results, version } = await must(
      store,
      put("k", "1"),
      add("k", "k", 2),
      score("k", "k", 3),
      append("k", "4", 500),
    );
    const all = [record("k"), tally("k"), board("k"), log("k")] as const;
    const [one, two, three, four] = [
      { value: "1", version },
      new Map([["k", 2]]),
      { entries: [{ member: "k", score: 3, tie: 0 }], size: 1 },
      [{ id: String(results[3]), at: 500, value: "4" }],
    ] as const;
    equal(await store.read(home, all), [one, two, three, four]);
    await must(store, drop("record", "k"));
    equal(await store.read(home, all), [null, two, three, four]);
    await must(store, drop("board", "k"));
    equal(await store.read(home, all), [null, two, { entries: [], size: 0 }, four]);
    await must(store, drop("tally", "k"));
    equal(await store.read(home, all), [null, new Map(), { entries: [], size: 0 }, four]);
    await must(store, drop("log", "k"));
    equal(await store.read(home, all), [null, new Map(), { entries: [], size: 0 }, []]);
  },

  async "a result of a read does not change with later commits"({ store }) {
    await must(store, put("a", "1"), score("b", "m", 1), append("l", "1", 500));
    const queries = [record("a"), board("b"), log("l")] as const;
    const before = await store.read(home, queries);
    const copy = structuredClone(before);
    await must(store, put("a", "2"), score("b", "m", 2), append("l", "2", 501));
    equal(before, copy);
    ok((await store.read(home, queries))[0]?.value === "2", "the later commit is missing");
  },
};

function lost(key: string): unknown {
  return { ok: false, because: "check", key };
}
