/** Tests of records: a put is read back, and each state has its own version. */

import type { LogEntry } from "../../lib/storage/contract.ts";
import {
  add,
  append,
  type Cases,
  drop,
  equal,
  home,
  log,
  must,
  mustAt,
  ok,
  put,
  record,
  type StoreCase,
  tally,
  values,
} from "./harness.ts";

export const recordCases: Cases<StoreCase> = {
  async "a record that was never put is null"({ store }) {
    equal(await store.read(home, [record("a")]), [null]);
  },

  async "a record is read back with the version of its commit"({ store, peer }) {
    const { version, results } = await must(store, put("a", "one"));
    equal(results, [null]);
    equal(await peer.read(home, [record("a")]), [{ value: "one", version }]);
  },

  async "every record put by one commit has its version"({ store }) {
    const { version } = await must(store, put("a", "1"), put("b", "2"));
    equal(await store.read(home, [record("b"), record("a")]), [
      { value: "2", version },
      { value: "1", version },
    ]);
  },

  async "reading does not change a version"({ store }) {
    await must(store, put("a", "1"));
    const first = await store.read(home, [record("a")]);
    equal(await store.read(home, [record("a"), record("a")]), [first[0], first[0]]);
  },

  async "putting the same value again makes a new version"({ store }) {
    const first = await must(store, put("a", "same"));
    const second = await must(store, put("a", "same"));
    ok(first.version !== second.version, "the version stayed");
  },

  async "a commit that does not touch a record leaves its version"({ store }) {
    const { version } = await must(store, put("a", "1"));
    await must(store, put("b", "2"));
    equal(await store.read(home, [record("a")]), [{ value: "1", version }]);
  },

  async "a version is never used again after delete and recreate with the same value"({ store, peer }) {
    const versions = new Set<string>();
    for (let round = 0; round < 20; round++) {
      versions.add((await must(round % 2 === 0 ? store : peer, put("a", "same"))).version);
      await must(store, drop("record", "a"));
    }
    equal(versions.size, 20, "distinct versions");
  },

  async "a version from before a delete does not match the record created after it"({ store }) {
    const old = await must(store, put("a", "same"));
    await must(store, drop("record", "a"));
    await must(store, put("a", "same"));
    equal(
      await store.commit(home, { checks: [{ key: "a", version: old.version }], writes: [put("a", "lost")] }),
      { ok: false, because: "check", key: "a" },
    );
  },

  async "a deleted record is absent, and deleting it again changes nothing"({ store }) {
    await must(store, put("a", "1"));
    equal((await must(store, drop("record", "a"))).results, [null]);
    equal(await store.read(home, [record("a")]), [null]);
    await must(store, drop("record", "a"));
    equal(await store.read(home, [record("a")]), [null]);
  },

  async "an empty value is a value"({ store }) {
    const { version } = await must(store, put("a", ""));
    equal(await store.read(home, [record("a")]), [{ value: "", version }]);
  },

  async "a read returns exactly the stored value"({ store }) {
    const samples = [
      "0",
      " ",
      "\0",
      "a\0b",
      "\r\n",
      "[]",
      "{}",
      "null",
      "1e400",
      "～😀é",
      "\ufeff",
      "%00%2F",
      "$1\\n",
    ];
    await must(store, ...samples.map((value, index) => put(`k${index}`, value)));
    const found = await store.read(
      home,
      samples.map((_, index) => record(`k${index}`)),
    );
    equal(
      found.map(each => each?.value),
      samples,
    );
  },

  async "partitions do not share records"({ store }) {
    const one = await mustAt(store, "one", { writes: [put("a", "1")] });
    await mustAt(store, "two", { writes: [put("a", "2")] });
    await mustAt(store, "two", { writes: [drop("record", "a")] });
    equal(await store.read("one", [record("a")]), [{ value: "1", version: one.version }]);
  },
};

export const expiryCases: Cases<StoreCase> = {
  async "a record is there until the millisecond before expireAt and absent from then on"({ store, clock }) {
    const { version } = await must(store, put("a", "1", clock.now() + 1_000));
    clock.advance(999);
    equal(await store.read(home, [record("a")]), [{ value: "1", version }]);
    clock.advance(1);
    equal(await store.read(home, [record("a")]), [null]);
    clock.advance(10_000_000);
    equal(await store.read(home, [record("a")]), [null]);
  },

  async "the time that the store tells is the one by which its records expire"({ store, clock }) {
    for (const ms of [0, 5_000]) {
      clock.advance(ms);
      equal(store.now?.() ?? clock.now(), clock.now());
    }
  },

  async "a record whose expireAt has passed is absent at once"({ store, clock }) {
    await must(
      store,
      put("a", "1", clock.now()),
      put("b", "1", clock.now() - 5),
      put("c", "1", 0),
      put("d", "1", -1),
    );
    equal(await store.read(home, [record("a"), record("b"), record("c"), record("d")]), [
      null,
      null,
      null,
      null,
    ]);
  },

  async "putting an expired state over a record removes the record"({ store, clock }) {
    await must(store, put("a", "1"));
    await must(store, put("a", "2", clock.now()));
    equal(await store.read(home, [record("a")]), [null]);
  },

  async "a check for absence holds on an expired record, and one for its version fails"({ store, clock }) {
    const { version } = await must(store, put("a", "1", clock.now() + 10));
    clock.advance(10);
    equal(await store.commit(home, { checks: [{ key: "a", version }], writes: [put("a", "2")] }), {
      ok: false,
      because: "check",
      key: "a",
    });
    const created = await store.commit(home, {
      checks: [{ key: "a", version: null }],
      writes: [put("a", "3")],
    });
    equal(created.ok, true);
    const [found] = await store.read(home, [record("a")]);
    equal(found?.value, "3");
  },

  async "a put without expireAt takes the expiry of the former state away"({ store, clock }) {
    await must(store, put("a", "1", clock.now() + 10));
    const { version } = await must(store, put("a", "2"));
    clock.advance(1_000_000);
    equal(await store.read(home, [record("a")]), [{ value: "2", version }]);
  },

  async "a put with a later expireAt prolongs, with an earlier one shortens"({ store, clock }) {
    const start = clock.now();
    await must(store, put("longer", "1", start + 10), put("shorter", "1", start + 1_000));
    await must(store, put("longer", "2", start + 1_000), put("shorter", "2", start + 10));
    clock.advance(10);
    const [longer, shorter] = await store.read(home, [record("longer"), record("shorter")]);
    equal([longer?.value, shorter], ["2", null]);
  },

  async "an expireAt far in the future is kept"({ store, clock }) {
    const { version } = await must(store, put("a", "1", Number.MAX_SAFE_INTEGER));
    clock.advance(100 * 365 * 86_400_000);
    equal(await store.read(home, [record("a")]), [{ value: "1", version }]);
  },

  async "expiry of one record leaves its neighbours"({ store, clock }) {
    await must(store, put("a", "1", clock.now() + 10), put("b", "2", clock.now() + 11), put("c", "3"));
    clock.advance(10);
    const found = await store.read(home, [record("a"), record("b"), record("c")]);
    equal(
      found.map(each => each?.value),
      [undefined, "2", "3"],
    );
  },
};

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

const t0 = 1_700_000_000_000;

export const logCases: Cases<StoreCase> = {
  async "a log that was never appended to is empty"({ store }) {
    equal(await store.read(home, [log("l"), log("l", { reverse: true })]), [[], []]);
  },

  async "append returns the id under which the entry is read"({ store }) {
    const { results } = await must(store, append("l", "one", t0), append("l", "two", t0 + 1));
    const [entries] = await store.read(home, [log("l")]);
    equal(entries, [
      { id: results[0], at: t0, value: "one" },
      { id: results[1], at: t0 + 1, value: "two" },
    ]);
    equal((await store.read(home, [log("l", { reverse: true })]))[0], entries.toReversed());
  },

  async "entries of the same millisecond keep their order and get distinct ids"({ store }) {
    const names = Array.from({ length: 30 }, (_, index) => `v${index}`);
    await must(store, ...names.slice(0, 15).map(value => append("l", value, t0)));
    for (const value of names.slice(15)) await must(store, append("l", value, t0));
    const [entries] = await store.read(home, [log("l")]);
    equal(
      entries.map(({ value }) => value),
      names,
    );
    increasing(entries);
    equal(
      entries.every(({ at, id }) => at === t0 && id.startsWith(`${t0}-`)),
      true,
    );
  },

  async "an entry older than the last one gets the last one's time"({ store }) {
    await must(store, append("l", "a", t0 + 100));
    await must(store, append("l", "b", t0), append("l", "c", 0), append("l", "d", t0 + 101));
    const [entries] = await store.read(home, [log("l")]);
    equal(
      entries.map(({ value, at }) => [value, at]),
      [
        ["a", t0 + 100],
        ["b", t0 + 100],
        ["c", t0 + 100],
        ["d", t0 + 101],
      ],
    );
    increasing(entries);
  },

  async "a log may begin at time 0"({ store }) {
    const { results } = await must(store, append("l", "a", 0), append("l", "b", 0));
    const [entries] = await store.read(home, [log("l", { from: 0, to: 0 })]);
    equal(entries, [
      { id: results[0], at: 0, value: "a" },
      { id: results[1], at: 0, value: "b" },
    ]);
  },

  async "a cursor continues beyond its entry, forward and backward"({ store }) {
    const { results } = await must(
      store,
      ...["a", "b", "c", "d"].map((value, index) => append("l", value, t0 + (index >> 1))),
    );
    const [, second] = results.map(String);
    ok(second !== undefined, "append gave no id");
    equal(await values(store, log("l", { cursor: second })), ["c", "d"]);
    equal(await values(store, log("l", { cursor: second, limit: 1 })), ["c"]);
    equal(await values(store, log("l", { cursor: second, reverse: true })), ["a"]);
    equal(await values(store, log("l", { cursor: String(results[3]) })), []);
    equal(await values(store, log("l", { cursor: String(results[0]), reverse: true })), []);
  },

  async "paging by cursor visits every entry once in both directions"({ store }) {
    const names = Array.from({ length: 25 }, (_, index) => `v${index}`);
    await must(store, ...names.map((value, index) => append("l", value, t0 + Math.floor(index / 10))));
    equal(await page(false), names);
    equal(await page(true), names.toReversed());

    async function page(reverse: boolean): Promise<string[]> {
      const seen: string[] = [];
      let options: { cursor?: string } = {};
      for (let round = 0; round < 10; round++) {
        const [entries] = await store.read(home, [log("l", { limit: 7, reverse, ...options })]);
        const last = entries.at(-1);
        if (last === undefined) break;
        seen.push(...entries.map(({ value }) => value));
        options = { cursor: last.id };
      }
      return seen;
    }
  },

  async "from and to are inclusive and combine with cursor, direction and limit"({ store }) {
    const { results } = await must(
      store,
      ...[0, 1, 1, 2, 3].map((at, index) => append("l", `v${index}`, t0 + at)),
    );
    equal(await values(store, log("l", { from: t0 + 1 })), ["v1", "v2", "v3", "v4"]);
    equal(await values(store, log("l", { to: t0 + 1 })), ["v0", "v1", "v2"]);
    equal(await values(store, log("l", { from: t0 + 1, to: t0 + 2 })), ["v1", "v2", "v3"]);
    equal(await values(store, log("l", { from: t0 + 1, to: t0 + 2, reverse: true, limit: 2 })), ["v3", "v2"]);
    equal(await values(store, log("l", { from: t0 + 1, cursor: String(results[1]) })), ["v2", "v3", "v4"]);
    equal(await values(store, log("l", { from: t0 + 2, cursor: String(results[0]) })), ["v3", "v4"]);
    equal(await values(store, log("l", { to: t0 + 1, cursor: String(results[4]), reverse: true })), [
      "v2",
      "v1",
      "v0",
    ]);
    equal(await values(store, log("l", { from: t0 + 1, cursor: String(results[3]), reverse: true })), [
      "v2",
      "v1",
    ]);
    equal(await values(store, log("l", { from: t0 + 9 })), []);
    equal(await values(store, log("l", { to: t0 - 1 })), []);
    equal(await values(store, log("l", { from: t0 + 2, to: t0 + 1 })), []);
    equal(await values(store, log("l", { limit: 0 })), []);
  },

  async "a log is trimmed to exactly maxLength"({ store }) {
    await must(
      store,
      ...Array.from({ length: 250 }, (_, index) => append("l", `v${index}`, t0 + index, 120)).slice(0, 100),
    );
    for (let index = 100; index < 250; index++) await must(store, append("l", `v${index}`, t0 + index, 120));
    equal((await values(store, log("l", { limit: 1_000 }))).length, 120);
    equal(await values(store, log("l", { limit: 1 })), ["v130"]);
    await must(store, append("l", "last", t0 + 999, 1));
    equal(await values(store, log("l")), ["last"]);
  },

  async "a cursor whose entry was trimmed still continues at the right place"({ store }) {
    const { results } = await must(
      store,
      append("l", "a", t0),
      append("l", "b", t0 + 1),
      append("l", "c", t0 + 2, 1),
    );
    equal(await values(store, log("l", { cursor: String(results[0]) })), ["c"]);
    equal(await values(store, log("l", { cursor: String(results[1]), reverse: true })), []);
  },

  async "trimming within one commit follows the order of the writes"({ store }) {
    await must(store, append("l", "a", t0, 1), append("l", "b", t0, 10), append("l", "c", t0, 10));
    equal(await values(store, log("l")), ["a", "b", "c"]);
  },

  async "a deleted log is empty and may begin at an earlier time"({ store }) {
    await must(store, append("l", "a", t0));
    await must(store, drop("log", "l"));
    equal(await values(store, log("l")), []);
    await must(store, append("l", "b", t0 - 500));
    const [entries] = await store.read(home, [log("l")]);
    equal(
      entries.map(({ at, value }) => [at, value]),
      [[t0 - 500, "b"]],
    );
  },

  async "an empty value and any text come back exactly"({ store }) {
    const samples = ["", "0", "\0", "～😀", "v"];
    await must(store, ...samples.map(value => append("l", value, t0)));
    equal(await values(store, log("l")), samples);
  },
};

/** Expects the ids of consecutive entries to increase as (milliseconds, sequence). */
function increasing(entries: readonly LogEntry[]): void {
  const ids = entries.map(({ id }) => id.split("-").map(BigInt));
  for (const [index, [ms = 0n, seq = 0n]] of ids.entries()) {
    const [beforeMs = -1n, beforeSeq = -1n] = ids[index - 1] ?? [];
    ok(
      ms > beforeMs || (ms === beforeMs && seq > beforeSeq),
      `the id ${entries[index]?.id} does not increase`,
    );
  }
}
