/** Logs: ever increasing ids, cursors both ways, exact trimming. */
import type { LogEntry } from "../../lib/storage/contract.ts";
import { append, drop, home, log, must, values } from "./build.ts";
import { equal, ok } from "./expect.ts";
import type { Cases, StoreCase } from "./harness.ts";

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
