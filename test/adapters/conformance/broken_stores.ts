/** Stores that break one promise each. */
import { ReferenceModel, ReferenceStore } from "../../../adapters/conformance/reference.ts";
import type { Batch, Check, Commit, Read, Results, Store, Write } from "../../../lib/storage/mod.ts";

/** The calls that a broken store does not just pass on. */
interface Twist {
  read?(inner: Store, partition: string, queries: readonly Read[]): Promise<readonly unknown[]>;
  commit?(inner: Store, partition: string, batch: Batch): Promise<Commit>;
}

/** A defect and the case that has to notice it. */
export interface Broken {
  readonly name: string;
  /** The case that must fail. */
  readonly caughtBy: string;
  /** True if a random run must notice it too. */
  readonly random: boolean;
  create(now: () => number): Store;
}

const utf16Order = (a: { member: string }, b: { member: string }) => (a.member < b.member ? -1 : 1);

function twisted(now: () => number, twist: Twist): Store {
  const inner = new ReferenceStore(new ReferenceModel(now));
  return {
    traits: inner.traits,
    async read<const Q extends readonly Read[]>(partition: string, queries: Q) {
      return (await (twist.read?.(inner, partition, queries) ??
        inner.read(partition, queries))) as Results<Q>;
    },
    async commit(partition, batch) {
      return await (twist.commit?.(inner, partition, batch) ?? inner.commit(partition, batch));
    },
    ping: () => inner.ping(),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

function broken(name: string, caughtBy: string, random: boolean, twist: Twist): Broken {
  return { name, caughtBy, random, create: now => twisted(now, twist) };
}

/** Changes every write on its way in. */
function rewriting(change: (write: Write) => Write): Twist {
  return {
    commit: (inner, partition, batch) =>
      inner.commit(partition, { ...batch, writes: batch.writes.map(change) }),
  };
}

/** Changes every result on its way out. */
function reporting(change: (query: Read, result: never) => unknown): Twist {
  return {
    async read(inner, partition, queries) {
      const results: readonly unknown[] = await inner.read(partition, queries);
      return queries.map((query, index) => change(query, results[index] as never));
    },
  };
}

/** Every defect that the suite is known to notice. */
export const brokenStores: readonly Broken[] = [
  broken("ignores checks", "concurrency › of 64 racers that hold the same version", true, {
    commit: (inner, partition, { writes }) => inner.commit(partition, { writes }),
  }),
  broken("ignores checks of fields", "commits › a check that a field is absent", true, {
    commit: (inner, partition, { checks = [], writes }) =>
      inner.commit(partition, { checks: checks.filter(check => !("absent" in check)), writes }),
  }),
  broken("checks and writes in two steps", "concurrency › of 64 racers that create the same", false, {
    async commit(inner, partition, batch) {
      const checked = await inner.commit(partition, { ...batch, writes: [] });
      return checked.ok ? await inner.commit(partition, { writes: batch.writes }) : checked;
    },
  }),
  broken("applies a batch write by write", "commits › a refused commit leaves every shape", true, {
    async commit(inner, partition, { checks = [], writes }) {
      let last = await inner.commit(partition, { checks, writes: [] });
      const results = [];
      for (const write of writes) {
        if (!last.ok) break;
        last = await inner.commit(partition, { writes: [write] });
        if (last.ok) results.push(...last.results);
      }
      return last.ok ? { ...last, results } : last;
    },
  }),
  broken("reads query by query", "concurrency › a reader never sees half a commit", false, {
    async read(inner, partition, queries) {
      const results = [];
      for (const query of queries) results.push(...(await inner.read(partition, [query])));
      return results;
    },
  }),
  broken("orders members by UTF-16 units", "boards › equal scores and ties are ordered", true, {
    ...reporting((query, result: { entries: { member: string; score: number; tie: number }[] } | null) => {
      if ((query.type !== "board" && query.type !== "around") || result === null) return result;
      const order = query.type === "board" && query.reverse === true ? -1 : 1;
      return {
        ...result,
        entries: result.entries.toSorted(
          (a, b) => order * (a.score - b.score || a.tie - b.tie || utf16Order(a, b)),
        ),
      };
    }),
  }),
  broken("takes the value for the version", "records › a version is never used again", true, {
    ...reporting((query, result: { value: string } | null) =>
      query.type === "record" && result !== null ? { value: result.value, version: result.value } : result,
    ),
    async commit(inner, partition, { checks = [], writes }) {
      const found = await inner.read(
        partition,
        checks.map(({ key }) => ({ type: "record" as const, key })),
      );
      const exact = checks.map((check, index): Check => {
        if ("absent" in check) return check;
        const isCurrent = check.version === (found[index]?.value ?? null);
        return { key: check.key, version: isCurrent ? (found[index]?.version ?? null) : "stale" };
      });
      const commit = await inner.commit(partition, { checks: exact, writes });
      const put = writes.findLast(write => write.type === "put");
      return commit.ok && put !== undefined ? { ...commit, version: put.value } : commit;
    },
  }),
  broken("ignores guards", "concurrency › 64 parallel guarded takes", true, {
    ...rewriting(write =>
      write.type === "add" ? { type: "add", key: write.key, field: write.field, by: write.by } : write,
    ),
  }),
  broken("ignores the version behind a score", "scores › a score as of an older", true, {
    ...rewriting(write => {
      if (write.type !== "score") return write;
      const { asOf: _, ...rest } = write;
      return rest;
    }),
  }),
  broken("takes the new tie for an unchanged score", "scores › a changed score takes", true, {
    async commit(inner, partition, { checks = [], writes }) {
      const twice = writes.flatMap(write =>
        write.type === "score" && write.asOf === undefined && write.op === "set"
          ? [{ type: "unscore" as const, key: write.key, member: write.member }, write]
          : [write],
      );
      const commit = await inner.commit(partition, { checks, writes: twice });
      if (!commit.ok) return commit;
      const kept = commit.results.filter((_, index) => {
        const next = twice[index + 1];
        return !(
          twice[index]?.type === "unscore" &&
          next?.type === "score" &&
          !writes.includes(twice[index])
        );
      });
      return { ...commit, results: kept };
    },
  }),
  broken("counts ties in the rank", "boards › a standing counts the members", true, {
    async read(inner, partition, queries) {
      const results: readonly unknown[] = await inner.read(partition, queries);
      return await Promise.all(
        queries.map(async (query, index) => {
          if (query.type !== "standing" || results[index] === null) return results[index];
          const [range] = await inner.read(partition, [{ type: "board", key: query.key, limit: 1_000 }]);
          const below = range.entries.findIndex(({ member }) => member === query.member);
          return { ...(results[index] as object), below };
        }),
      );
    },
  }),
  broken("takes the rank for the position", "boards › a position counts the entries", true, {
    ...reporting((query, result: { below: number } | null) =>
      query.type === "standing" && query.position === true && result !== null
        ? { ...result, position: result.below }
        : result,
    ),
  }),
  broken(
    "shows one side alone at an end of a board",
    "boards › around reads the entries on both sides",
    true,
    {
      async read(inner, partition, queries) {
        const results: readonly unknown[] = await inner.read(partition, queries);
        return queries.map((query, index) => {
          const window = results[index] as { entries: readonly { member: string }[] } | null;
          if (query.type !== "around" || window === null) return window;
          const own = window.entries.findIndex(({ member }) => member === query.member);
          return { ...window, entries: window.entries.slice(0, own + 1 + (query.limit >> 1)) };
        });
      },
    },
  ),
  broken(
    "takes the offset of a window for its rank",
    "boards › around reads the entries on both sides",
    true,
    {
      ...reporting((query, result: { offset: number } | null) =>
        query.type === "around" && result !== null ? { ...result, below: result.offset } : result,
      ),
    },
  ),
  broken("counts the entry at a point as before it", "boards › before counts the entries", true, {
    async read(inner, partition, queries) {
      const results: readonly unknown[] = await inner.read(partition, queries);
      return await Promise.all(
        queries.map(async (query, index) => {
          if (query.type !== "before") return results[index];
          const member = `${query.member ?? ""}\0`;
          return (await inner.read(partition, [{ ...query, member }]))[0];
        }),
      );
    },
  }),
  broken("trims logs only roughly", "logs › a log is trimmed to exactly maxLength", true, {
    ...rewriting(write => (write.type === "append" ? { ...write, maxLength: write.maxLength + 3 } : write)),
  }),
  broken("keeps a record one millisecond too long", "expiry › a record is there until", true, {
    ...rewriting(write =>
      write.type === "put" && write.expireAt !== undefined
        ? { ...write, expireAt: write.expireAt + 1 }
        : write,
    ),
  }),
  broken("deletes all shapes of a key", "commits › shapes have separate key spaces", true, {
    async commit(inner, partition, { checks = [], writes }) {
      const shapes = ["tally", "board", "log"] as const;
      const all = writes.flatMap((write): Write[] =>
        write.type === "delete" && write.shape === "record"
          ? [write, ...shapes.map(shape => ({ type: "delete" as const, shape, key: write.key }))]
          : [write],
      );
      const commit = await inner.commit(partition, { checks, writes: all });
      if (!commit.ok) return commit;
      const own = new Set<Write>(writes);
      return {
        ...commit,
        results: commit.results.filter((_, index) => {
          const write = all[index];
          return write !== undefined && own.has(write);
        }),
      };
    },
  }),
  broken("answers -0 as it was given", "boards › a score of -0 is 0", true, {
    ...reporting((query, result: { score: number } | null) =>
      query.type === "standing" && result?.score === 0 ? { ...result, score: -0 } : result,
    ),
  }),
  broken(
    "hands the size of the page out as the size of the board",
    "boards › the size counts every member",
    true,
    {
      ...reporting((query, result: { entries: readonly unknown[] }) =>
        query.type === "board" ? { ...result, size: result.entries.length } : result,
      ),
    },
  ),
  broken("begins at the cursor instead of beyond it", "logs › a cursor continues beyond its entry", true, {
    async read(inner, partition, queries) {
      const results: readonly unknown[] = await inner.read(partition, queries);
      return await Promise.all(
        queries.map(async (query, index) => {
          if (query.type !== "log" || query.cursor === undefined) return results[index];
          const { cursor, limit: _, ...rest } = query;
          const [all] = await inner.read(partition, [{ ...rest, limit: 1_000 }]);
          const from = all.findIndex(({ id }) => id === cursor);
          return from < 0 ? results[index] : all.slice(from, from + query.limit);
        }),
      );
    },
  }),
  broken("cuts the key at a brace", "names › every awkward key", true, {
    read: (inner, partition, queries) =>
      inner.read(
        partition,
        queries.map(query => ({ ...query, key: query.key.replaceAll(/[{}]/g, "_") })),
      ),
    commit: (inner, partition, { checks = [], writes }) =>
      inner.commit(partition, {
        checks: checks.map(check => ({ ...check, key: check.key.replaceAll(/[{}]/g, "_") })),
        writes: writes.map(write => ({ ...write, key: write.key.replaceAll(/[{}]/g, "_") })),
      }),
  }),
  broken("joins partition and key with a space", "names › a partition and a key never collide", true, {
    read: (inner, partition, queries) =>
      inner.read(
        "all",
        queries.map(query => ({ ...query, key: `${partition} ${query.key}` })),
      ),
    commit: (inner, partition, { checks = [], writes }) =>
      inner.commit("all", {
        checks: checks.map(check => ({ ...check, key: `${partition} ${check.key}` })),
        writes: writes.map(write => ({ ...write, key: `${partition} ${write.key}` })),
      }),
  }),
  broken("accepts what exceeds a limit", "limits › a value may have maxValueBytes", false, {
    commit: async (inner, partition, batch) => {
      try {
        return await inner.commit(partition, batch);
      } catch {
        return { ok: true, version: "none", results: batch.writes.map(() => null) };
      }
    },
  }),
  broken("writes what comes before a misuse", "limits › numbers that are not finite", true, {
    commit: async (inner, partition, { checks = [], writes }) => {
      const [first, ...rest] = writes;
      if (first === undefined || rest.length === 0) return inner.commit(partition, { checks, writes });
      const commit = await inner.commit(partition, { checks, writes: [first] });
      const others = commit.ok ? await inner.commit(partition, { writes: rest }) : commit;
      return commit.ok && others.ok ? { ...others, results: [...commit.results, ...others.results] } : others;
    },
  }),
];
