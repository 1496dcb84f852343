/** Tests of records: a put is read back, and each state has its own version. */
import { drop, home, must, mustAt, put, record } from "./build.ts";
import { equal, ok } from "./expect.ts";
import type { Cases, StoreCase } from "./harness.ts";

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
