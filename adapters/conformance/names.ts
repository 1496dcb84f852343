/** Tests of names: no name is special, and no two names collide. */
import type { Read, Write } from "../../lib/storage/contract.ts";
import {
  add,
  append,
  board,
  drop,
  home,
  log,
  must,
  mustAt,
  put,
  record,
  score,
  standing,
  tally,
  unscore,
} from "./build.ts";
import { equal } from "./expect.ts";
import type { Cases, StoreCase } from "./harness.ts";

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
