/** Tests of limits: a value at a limit works, one beyond it is refused without any effect. */

import { type Batch, type Read, type Store, storageLimits, type Write } from "../../lib/storage/contract.ts";
import {
  add,
  append,
  around,
  before,
  board,
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
  rejects,
  type StoreCase,
  score,
  standing,
  tally,
  unscore,
} from "./harness.ts";

/** Two bytes in UTF-8 and one unit in UTF-16: limits count bytes. */
const twoBytes = "é";
const loneSurrogates = ["\ud800", "a\udc00", "\udc00\ud800", "\ud83d x"];
const misuse = [TypeError, RangeError];

const sizeCases: Cases<StoreCase> = {
  async "the traits stay within the limits of the contract"({ store }) {
    const { maxWrites, maxValueBytes } = store.traits;
    ok(maxWrites >= 1 && maxWrites <= storageLimits.writesMax, `maxWrites is ${maxWrites}`);
    ok(
      maxValueBytes >= 1 && maxValueBytes <= storageLimits.valueBytesMax,
      `maxValueBytes is ${maxValueBytes}`,
    );
  },

  async "a partition may have 512 bytes and no more, and at least one"({ store }) {
    const longest = twoBytes.repeat(storageLimits.partitionBytesMax / 2);
    await mustAt(store, longest, { writes: [put("a", "1")] });
    equal((await store.read(longest, [record("a")]))[0]?.value, "1");
    for (const partition of [`${longest}x`, ""]) {
      await rejects(() => store.read(partition, [record("a")]), misuse, "read of a bad partition");
      await rejects(() => store.commit(partition, { writes: [] }), misuse, "commit to a bad partition");
    }
  },

  async "a key, field or member may have 512 bytes and no more, and at least one"({ store }) {
    const longest = twoBytes.repeat(storageLimits.nameBytesMax / 2);
    const version = (await must(store, ...named(longest))).version;
    await mustAt(store, home, { checks: [{ key: longest, version }], writes: [] });
    const [value, fields, range, found, entries] = await store.read(home, [
      record(longest),
      tally(longest, [longest]),
      board(longest),
      standing(longest, longest),
      log(longest),
    ]);
    equal([value?.value, fields.get(longest), range.entries[0]?.member], ["1", 1, longest]);
    equal([found?.score, entries[0]?.value], [1, "1"]);
    for (const bad of [`${longest}x`, "x".repeat(storageLimits.nameBytesMax + 1), ""]) {
      for (const write of badNames(bad)) await refusedWrite(store, write);
      for (const query of badQueries(bad)) {
        await rejects(() => store.read(home, [query]), misuse, `read of a bad name: ${query.type}`);
      }
      await refused(store, { checks: [{ key: bad, version: null }], writes: [put("effect", "1")] });
      await refused(store, { checks: [{ key: bad, absent: "x" }], writes: [put("effect", "1")] });
      await refused(store, { checks: [{ key: "t", absent: bad }], writes: [put("effect", "1")] });
    }
  },

  async "a value may have maxValueBytes and no more, in records and in logs"({ store }) {
    const max = store.traits.maxValueBytes;
    const largest = twoBytes.repeat(Math.floor(max / 2)) + "x".repeat(max % 2);
    await must(store, put("a", largest), append("l", largest, 1));
    const [value, entries] = await store.read(home, [record("a"), log("l")]);
    ok(value?.value === largest, "the largest record did not come back");
    ok(entries[0]?.value === largest, "the largest log entry did not come back");
    await refusedWrite(store, put("b", `${largest}x`));
    await refusedWrite(store, append("l", `${largest}x`, 1));
  },

  async "the values of a commit may have storageLimits.commitBytesMax together and no more"({ store }) {
    const { maxValueBytes, maxWrites } = store.traits;
    const size = Math.min(maxValueBytes, storageLimits.commitBytesMax / 8);
    const chunk = "v".repeat(size);
    const count = Math.ceil(storageLimits.commitBytesMax / size);
    if (count + 1 > maxWrites) return;
    const chunks = Array.from({ length: count }, (_, index) =>
      put(
        `k${index}`,
        index === count - 1 ? chunk.slice(0, storageLimits.commitBytesMax - size * (count - 1)) : chunk,
      ),
    );
    await must(store, ...chunks);
    equal(
      (await store.read(home, [record(`k${count - 1}`)]))[0]?.value.length,
      storageLimits.commitBytesMax - size * (count - 1),
    );
    await refused(store, { writes: [put("effect", "1"), ...chunks] });
  },
};

const countCases: Cases<StoreCase> = {
  async "a read may have 512 queries and no more"({ store }) {
    await must(store, put("a", "1"));
    const results = await store.read(
      home,
      Array.from({ length: storageLimits.readsMax }, () => record("a")),
    );
    equal(results.length, storageLimits.readsMax);
    ok(
      results.every(result => result?.value === "1"),
      "a result is missing",
    );
    const tooMany = Array.from({ length: storageLimits.readsMax + 1 }, () => record("a"));
    await rejects(() => store.read(home, tooMany), misuse, "too many queries");
  },

  async "a range may ask for 1,000 entries and no more"({ store }) {
    equal((await store.read(home, [board("b", { limit: storageLimits.rangeLimitMax })]))[0].size, 0);
    equal((await store.read(home, [log("l", { limit: storageLimits.rangeLimitMax })]))[0], []);
    equal(await store.read(home, [around("b", "m", storageLimits.rangeLimitMax)]), [null]);
    await rejects(() => store.read(home, [around("b", "m", 0)]), misuse, "nobody around a member");
    for (const limit of [storageLimits.rangeLimitMax + 1, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await rejects(() => store.read(home, [board("b", { limit })]), misuse, `board limit ${limit}`);
      await rejects(() => store.read(home, [log("l", { limit })]), misuse, `log limit ${limit}`);
      await rejects(() => store.read(home, [around("b", "m", limit)]), misuse, `limit ${limit} around`);
    }
  },

  async "a commit may have 200 checks and no more"({ store }) {
    const checks = Array.from({ length: storageLimits.checksMax }, (_, index) => ({
      key: `k${index}`,
      version: null,
    }));
    await mustAt(store, home, { checks, writes: [put("a", "1")] });
    await refused(store, { checks: [...checks, { key: "z", version: null }], writes: [put("effect", "1")] });
  },

  async "a commit may have maxWrites writes and no more"({ store }) {
    const { maxWrites } = store.traits;
    const writes = Array.from({ length: maxWrites }, (_, index) => add("t", `f${index % 500}`, 1));
    equal((await must(store, ...writes)).results.length, maxWrites);
    await refused(store, { writes: [...writes, put("effect", "1")] });
  },

  async "a tally may hold 10,000 fields and no more"({ store }) {
    const size = Math.min(store.traits.maxWrites, 500);
    for (let start = 0; start < storageLimits.tallyFieldsMax; start += size) {
      const count = Math.min(size, storageLimits.tallyFieldsMax - start);
      await must(store, ...Array.from({ length: count }, (_, index) => add("t", `f${start + index}`, 1)));
    }
    await refusedWrite(store, add("t", "one more", 1));
    const mark: Batch = {
      checks: [{ key: "t", absent: "one more" }],
      writes: [put("effect", "1"), add("t", "one more", 1)],
    };
    await refused(store, mark);
    await must(store, add("t", "f0", 1));
    const [fields] = await store.read(home, [tally("t")]);
    equal([fields.size, fields.get("f0"), fields.get("f9999")], [storageLimits.tallyFieldsMax, 2, 1]);
  },

  async "a log may keep 100,000 entries and no more, and at least one"({ store }) {
    await must(store, append("l", "1", 1, storageLimits.logLengthMax));
    for (const maxLength of [storageLimits.logLengthMax + 1, 0, -1, 1.5, Number.NaN]) {
      await refusedWrite(store, append("l", "x", 1, maxLength));
    }
    equal((await store.read(home, [log("l")]))[0].length, 1);
  },
};

const misuseCases: Cases<StoreCase> = {
  async "a tie may be any integer from 0 to storageLimits.tieMax"({ store }) {
    await must(store, score("b", "a", 1, { tie: storageLimits.tieMax }));
    equal(await store.read(home, [standing("b", "a")]), [{ score: 1, tie: storageLimits.tieMax, below: 0 }]);
    equal(
      await store.read(home, [
        before("b", 1, { tie: storageLimits.tieMax }),
        before("b", 2, { tie: storageLimits.tieMax }),
      ]),
      [0, 1],
    );
    for (const tie of [storageLimits.tieMax + 1, -1, 0.5, Number.NaN]) {
      await refusedWrite(store, score("b", "a", 2, { tie }));
      await rejects(() => store.read(home, [before("b", 2, { tie })]), misuse, `before the tie ${tie}`);
    }
  },

  async "numbers that are not finite, safe or in range are refused"({ store }) {
    const { NaN: nan, POSITIVE_INFINITY: infinity, MAX_SAFE_INTEGER: top } = Number;
    for (const bad of [nan, infinity, -infinity]) {
      await refusedWrite(store, score("b", "a", bad));
      await refusedWrite(store, add("t", "x", bad));
      await refusedWrite(store, add("t", "x", 1, { min: bad === -infinity ? nan : bad }));
      await refusedWrite(store, append("l", "x", bad));
      await refusedWrite(store, put("r", "x", bad));
    }
    for (const bad of [top + 1, 0.5]) {
      await refusedWrite(store, add("t", "x", bad));
      await refusedWrite(store, append("l", "x", bad));
      await refusedWrite(store, score("b", "a", 1, { asOf: bad }));
    }
    await refusedWrite(store, append("l", "x", -1));
    await refusedWrite(store, score("b", "a", 1, { asOf: -1 }));
    await rejects(() => store.read(home, [board("b", { min: nan })]), misuse, "min NaN");
    await rejects(() => store.read(home, [board("b", { max: nan })]), misuse, "max NaN");
    await rejects(() => store.read(home, [before("b", nan)]), misuse, "before NaN");
    for (const offset of [-1, 0.5, nan]) {
      await rejects(() => store.read(home, [board("b", { offset })]), misuse, `offset ${offset}`);
    }
  },

  async "a cursor that is no id is refused"({ store }) {
    for (const cursor of ["", "x", "1", "1-", "-1", "1-1-1", "(1-1", "+", "1-x"]) {
      await rejects(() => store.read(home, [log("l", { cursor })]), misuse, `cursor ${cursor}`);
    }
  },

  async "a string with a lone surrogate is refused everywhere"({ store }) {
    for (const bad of loneSurrogates) {
      await rejects(() => store.read(bad, [record("a")]), misuse, "partition of a read");
      await rejects(() => store.commit(bad, { writes: [] }), misuse, "partition of a commit");
      for (const write of badNames(bad)) await refusedWrite(store, write);
      for (const query of badQueries(bad)) {
        await rejects(() => store.read(home, [query]), misuse, `read of an ill-formed name: ${query.type}`);
      }
      await refusedWrite(store, put("r", bad));
      await refusedWrite(store, append("l", bad, 1));
    }
  },
};

function named(name: string): Write[] {
  return [put(name, "1"), add(name, name, 1), score(name, name, 1), append(name, "1", 1)];
}

function badNames(bad: string): Write[] {
  return [
    put(bad, "1"),
    ...(["record", "tally", "board", "log"] as const).map(shape => drop(shape, bad)),
    add(bad, "x", 1),
    add("t", bad, 1),
    score(bad, "x", 1),
    score("b", bad, 1),
    unscore(bad, "x"),
    unscore("b", bad),
    append(bad, "1", 1),
  ];
}

function badQueries(bad: string): Read[] {
  return [
    record(bad),
    tally(bad),
    tally("t", ["x", bad]),
    board(bad),
    standing(bad, "x"),
    standing("b", bad),
    around(bad, "x", 1),
    around("b", bad, 1),
    before(bad, 1),
    before("b", 1, { member: bad }),
    log(bad),
  ];
}

/** Expects the write to be refused without any effect, even that of a good write before it. */
async function refusedWrite(store: Store, write: Write): Promise<void> {
  await refused(store, { writes: [put("effect", "1"), write] });
}

async function refused(store: Store, batch: Batch): Promise<void> {
  await rejects(() => store.commit(home, batch), misuse, `commit of ${batch.writes.at(-1)?.type}`);
  equal(await store.read(home, [record("effect")]), [null], "effect of a refused commit");
}

export const limitCases: Cases<StoreCase> = {
  ...sizeCases,
  ...countCases,
  ...misuseCases,
};

/** Names with a meaning somewhere: hash tags, separators, escapes, patterns, prototypes, encodings. */
export const awkwardNames: readonly string[] = [
  "{",
  "}",
  "{}",
  "{a}",
  "}{",
  "a{b}c",
  "{a}{b}",
  ":",
  "a:b",
  "a",
  "b",
  "::",
  "*",
  "?",
  "[a-z]",
  "\\",
  "%",
  "%2F",
  "%252F",
  "/",
  "../a",
  ".",
  " ",
  " a",
  "a ",
  "\0",
  "a\0b",
  "\n",
  '"',
  "'",
  "$1",
  "KEYS[1]",
  "0",
  "-1",
  "1-1",
  "-inf",
  "+inf",
  "(1",
  "nan",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "null",
  "undefined",
  "true",
  "é",
  "e\u0301",
  "～",
  "😀",
  "𐀀",
  "\uffff",
  "\ufeff",
  "İ",
  "ß",
  "A",
  "a:ties",
  "a:t",
  "r:a",
  "t:a",
  "b:a",
  "l:a",
];

export const nameCases: Cases<StoreCase> = {
  async "every awkward partition keeps its own keys"({ store, peer }) {
    for (const [index, partition] of awkwardNames.entries()) {
      await mustAt(store, partition, { writes: everyShape("k", "k", index) });
    }
    for (const [index, partition] of awkwardNames.entries()) {
      equal(summary(await peer.read(partition, everyQuery("k", "k"))), expected(index), partition);
    }
  },

  async "every awkward key keeps its own state in every shape"({ store }) {
    for (const [index, key] of awkwardNames.entries()) await must(store, ...everyShape(key, "k", index));
    for (const [index, key] of awkwardNames.entries()) {
      equal(summary(await store.read(home, everyQuery(key, "k"))), expected(index), key);
    }
    for (const key of awkwardNames) await must(store, drop("board", key), drop("tally", key));
    for (const [index, key] of awkwardNames.entries()) {
      equal(
        summary(await store.read(home, everyQuery(key, "k"))),
        [`v${index}`, undefined, undefined, `v${index}`],
        key,
      );
    }
  },

  async "a partition and a key never collide"({ store }) {
    const pairs = [
      ["a", "b:c"],
      ["a:b", "c"],
      ["a:", "b:c"],
      ["a", ":b:c"],
      ["{a}", "b"],
      ["a}", "{b"],
      ["a", "}b"],
      ["a%7D", "b"],
      ["a%3Ab", "c"],
      ["a/b", "c"],
      ["a", "b/c"],
      ["a\0b", "c"],
      ["a", "b\0c"],
      ["a b", "c"],
      ["a", "b c"],
    ] as const;
    for (const [index, [partition, key]] of pairs.entries()) {
      await mustAt(store, partition, { writes: everyShape(key, "k", index) });
    }
    for (const [index, [partition, key]] of pairs.entries()) {
      equal(
        summary(await store.read(partition, everyQuery(key, "k"))),
        expected(index),
        `${partition} + ${key}`,
      );
    }
  },

  async "every awkward tally field has its own count"({ store }) {
    await must(store, ...awkwardNames.map((field, index) => add("t", field, index)));
    const all = new Map(awkwardNames.map((field, index) => [field, index]));
    equal(await store.read(home, [tally("t"), tally("t", awkwardNames)]), [all, all]);
  },

  async "fields, members and keys named after object members are absent until written"({ store }) {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "size", "length"];
    for (const name of names) {
      equal(
        await store.read(home, [
          record(name),
          tally(name),
          tally("t", [name]),
          standing("b", name),
          log(name),
        ]),
        [null, new Map(), new Map(), null, []],
        name,
      );
    }
  },

  async "every awkward member is ordered by its bytes and found, moved and removed alone"({ store }) {
    await must(store, ...awkwardNames.map(member => score("b", member, 1, { tie: 7, asOf: 3 })));
    const [range] = await store.read(home, [board("b", { limit: 1_000 })]);
    equal(
      range.entries.map(({ member }) => member),
      sortedByBytes(awkwardNames),
    );
    for (const [index, member] of awkwardNames.entries()) {
      equal((await must(store, score("b", member, index + 2, { asOf: 4 }))).results, [index + 2], member);
      equal((await must(store, score("b", member, 0, { asOf: 4 }))).results, [index + 2], member);
    }
    for (const member of awkwardNames) {
      await must(store, unscore("b", member));
      equal(await store.read(home, [standing("b", member)]), [null], member);
    }
    equal(await store.read(home, [board("b")]), [{ entries: [], size: 0 }]);
  },
};

function everyShape(key: string, inner: string, index: number): Write[] {
  return [
    put(key, `v${index}`),
    add(key, inner, index),
    score(key, inner, index),
    append(key, `v${index}`, 1),
  ];
}

function everyQuery(key: string, inner: string): readonly Read[] {
  return [record(key), tally(key, [inner]), standing(key, inner), log(key)];
}

function expected(index: number): unknown {
  return [`v${index}`, index, index, `v${index}`];
}

/** Flattens the results of {@linkcode everyQuery}, with every log entry so that a second one would show. */
function summary(results: readonly unknown[]): unknown {
  const [first, fields, found, entries] = results as [
    { value: string } | null,
    ReadonlyMap<string, number>,
    { score: number } | null,
    readonly { value: string }[],
  ];
  return [first?.value, [...fields.values()][0], found?.score, ...entries.map(({ value }) => value)];
}

function sortedByBytes(names: readonly string[]): string[] {
  const encoder = new TextEncoder();
  return names
    .map(name => ({
      name,
      hex: Array.from(encoder.encode(name), byte => byte.toString(16).padStart(2, "0")).join(""),
    }))
    .sort((a, b) => (a.hex < b.hex ? -1 : 1))
    .map(({ name }) => name);
}
