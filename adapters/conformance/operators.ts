/** Tests of what operators ask a store: its partitions, and what endangers its data. */
import type { Store, StoreWarning } from "../../lib/storage/contract.ts";
import type { PartitionLister, PartitionQuery } from "../../lib/storage/ports.ts";
import {
  add,
  type Cases,
  drop,
  equal,
  type Fixture,
  mustAt,
  ok,
  put,
  register,
  type Suite,
} from "./harness.ts";

/** A store that lists its partitions and that no other test has touched. */
export interface PartitionsFixture extends Fixture {
  readonly store: Store & PartitionLister;
}

/** Registers the suite for a {@linkcode PartitionLister}. */
export function partitionsConformance(options: Suite<PartitionsFixture>): void {
  options.describe("partitions", () => register(options, partitionCases, () => options.factory()));
}

/** A store that says what endangers its data. */
export interface WarningsFixture extends Fixture {
  /** A store in no danger. */
  readonly store: Store;
  /** Brings about what a warning says. Omit those that cannot come about here. */
  readonly endanger: Readonly<Partial<Record<StoreWarning["code"], () => Promise<void>>>>;
}

/** Registers the suite for the `warnings` of a {@linkcode Store}. */
export function warningsConformance(options: Suite<WarningsFixture>): void {
  options.describe("warnings", () => register(options, warningCases, () => options.factory()));
}

const awkwardIds = ["a*b", "a?b", "[ab]", "a\\b", "{x}", "%7Bx%7D", "%25", "_", "é😀", "}r", "", " "];
const many = 2_001;
const batchSize = 100;

const partitionCases: Cases<PartitionsFixture> = {
  async "the partitions are those that begin so and hold the record, whatever their names"({ store }) {
    const expected = awkwardIds.map(id => `p:1:user:${id}`).sort();
    const writes = [put("user", "1"), put("name", "1")];
    for (const partition of expected) await mustAt(store, partition, { writes });
    await mustAt(store, "p:2:user:b", { writes });
    await mustAt(store, "p:1:user:named", { writes: [put("name", "1")] });
    await mustAt(store, "p:1:user:tallied", { writes: [add("user", "f", 1)] });
    equal(await listed(store, { prefix: "p:1:user:", record: "user" }), expected);
    equal(await listed(store, { prefix: "p:1:user:a*", record: "user" }), ["p:1:user:a*b"]);
    equal(await listed(store, { prefix: "p:1:user:{", record: "user" }), ["p:1:user:{x}"]);
    equal(await listed(store, { prefix: "p:1:", record: "use" }), []);
    equal(await listed(store, { prefix: "p:", record: "user" }), [...expected, "p:2:user:b"]);
    await mustAt(store, "p:2:user:b", { writes: [drop("record", "user")] });
    equal(await listed(store, { prefix: "p:2:", record: "user" }), []);
  },

  async "2,001 partitions come in several groups, all of them, while others are written"({ store }) {
    const writes = [put("user", "1")];
    const names = Array.from({ length: many }, (_, n) => `p:1:user:${String(n).padStart(6, "0")}`);
    for (let from = 0; from < many; from += batchSize) {
      await Promise.all(names.slice(from, from + batchSize).map(name => mustAt(store, name, { writes })));
    }
    const found = new Set<string>();
    let groups = 0;
    for await (const group of store.partitions({ prefix: "p:1:user:", record: "user" })) {
      groups += 1;
      for (const name of group) found.add(name);
      await mustAt(store, `p:1:later:${groups}`, { writes });
    }
    equal([...found].sort(), names);
    ok(groups > 1, "all partitions came in one group");
  },
};

async function listed(store: PartitionLister, query: PartitionQuery): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const group of store.partitions(query)) found.push(...group);
  return [...new Set(found)].sort();
}

const warningCases: Cases<WarningsFixture> = {
  async "a store in no danger warns of nothing, and one in danger of that alone"({ store, endanger }) {
    equal(await store.warnings?.(), []);
    const expected: string[] = [];
    for (const [code, bringAbout] of Object.entries(endanger)) {
      await bringAbout();
      expected.push(code);
      const warnings = (await store.warnings?.()) ?? [];
      equal(warnings.map(warning => warning.code).sort(), expected.toSorted());
      ok(
        warnings.every(({ detail }) => detail !== ""),
        "a warning does not say what to do",
      );
    }
    ok(expected.length > 0, "the fixture brings about no warning");
  },
};
