import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPostgresStore, migratePostgres } from "../../../adapters/postgres/mod.ts";
import { blockMembersMax, groupBlocksMax, uncountedMembersMax } from "../../../adapters/postgres/options.ts";
import type { Store, Write } from "../../../lib/storage/mod.ts";
import {
  freshSchema,
  type PostgresProcess,
  postgresAvailable,
  sharedPostgres,
} from "../../support/postgres.ts";

const size = 10_000;

/** Numbers that look random and are the same in every run. */
function randomSource(): (below: number) => number {
  let seed = 7;
  return below => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
}

async function apply(store: Store, writes: readonly Write[]): Promise<void> {
  for (let start = 0; start < writes.length; start += 1_000) {
    await store.commit("p", { writes: writes.slice(start, start + 1_000) });
  }
}

/** Asserts that ranks, windows and pages, near and far, are those of the scores. */
async function assertCounted(store: Store, scores: ReadonlyMap<string, number>): Promise<void> {
  const ordered = [...scores].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
  const below = (score: number): number => ordered.findIndex(([, other]) => other >= score);
  const last = ordered.length - 1;
  for (const index of [0, 1, last >> 2, last >> 1, (last * 3) >> 2, last - 1, last]) {
    const [member, score] = ordered[index] as [string, number];
    const board = { type: "board", key: "b", limit: 5 } as const;
    const [standing, before, page, back, around] = await store.read("p", [
      { type: "standing", key: "b", member, position: true },
      { type: "before", key: "b", score: score + 0.5 },
      { ...board, offset: index },
      { ...board, offset: last - index, reverse: true },
      { type: "around", key: "b", member, limit: 3 },
    ]);
    assert.deepEqual(standing, { score, tie: 0, below: below(score), position: index });
    const above = below(score + 0.5);
    assert.equal(before, above === -1 ? ordered.length : above);
    const names = (entries: readonly { readonly member: string }[]): string[] =>
      entries.map(one => one.member);
    const expected = (from: number, to: number): string[] => ordered.slice(from, to).map(([name]) => name);
    assert.deepEqual(names(page.entries), expected(index, index + 5));
    assert.deepEqual(names(back.entries), expected(Math.max(0, index - 4), index + 1).reverse());
    assert.equal(page.size, ordered.length);
    const first = Math.max(0, Math.min(index - 1, last - 2));
    assert.deepEqual(names(around?.entries ?? []), expected(first, first + 3));
    assert.deepEqual([around?.offset, around?.below], [first, below(ordered[first]?.[1] ?? 0)]);
  }
}

interface Counts {
  readonly blocks: number;
  readonly groups: number;
}

/** Asserts that blocks and groups count so many members, within their bounds, and returns their numbers. */
async function countsOf(server: PostgresProcess, schema: string, members: number): Promise<Counts> {
  const [row] = await server.query(`set search_path = ${schema};
    with blocks_by_group as (
      select b.*, (
        select array_agg(g order by g.score desc, g.tie desc, g.member desc) from block_groups g
        where (g.score, g.tie, g.member) <= (b.score, b.tie, b.member)
      ) [1] as g from blocks b
    ), found as (
      select (g).score, (g).tie, (g).member, (g).size as counted, count(*) as blocks, sum(size) as size from blocks_by_group group by g
    )
    select (select count(*) from blocks)::int as blocks, (select count(*) from block_groups)::int as groups,
      (select sum(size) from blocks)::int as members, (select max(size) from blocks) as largest,
      (select min(size) from blocks) as smallest, (select max(blocks) from found)::int as most,
      (select count(*) from found where counted = size)::int as true_groups,
      (select count(*) from block_groups join blocks using (score, tie, member))::int as beginning`);
  const { blocks, groups, ...found } = row as Record<string, number> & Counts;
  assert.equal(found.members, members);
  assert.ok(Number(found.largest) <= blockMembersMax && Number(found.smallest) >= 0);
  assert.ok(Number(found.most) <= groupBlocksMax || groups === 0);
  assert.deepEqual([groups === 0 ? 0 : found.true_groups, found.beginning], [groups, groups]);
  return { blocks, groups };
}

describe("a large board in PostgreSQL", { skip: postgresAvailable() }, () => {
  it("is counted exactly while it grows, moves, shrinks and grows again", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await using store = createPostgresStore({ server: server.url, schema });
    const random = randomSource();
    const scores = new Map<string, number>();
    const counts = (): Promise<Counts> => countsOf(server, schema, scores.size);
    const write = async (members: readonly string[], to: Store = store): Promise<void> => {
      for (const member of members) scores.set(member, random(size / 4));
      const writes = members.map(
        (member): Write => ({ type: "score", op: "set", key: "b", member, score: scores.get(member) ?? 0 }),
      );
      await apply(to, writes);
    };
    const names = Array.from({ length: size }, (_, index) => `m${index}`);
    await write(names);
    await assertCounted(store, scores);
    const many = await counts();
    assert.ok(many.groups > 1, `${many.blocks} blocks in ${many.groups} groups`);
    await write(names.filter((_, index) => index % 5 === 0));
    await assertCounted(store, scores);
    const leaving = names.filter(() => random(10) > 0);
    for (const member of leaving) scores.delete(member);
    await apply(
      store,
      leaving.map((member): Write => ({ type: "unscore", key: "b", member })),
    );
    await assertCounted(store, scores);
    const few = await counts();
    assert.ok(few.blocks < many.blocks / 2, `${few.blocks} blocks of ${many.blocks} are left`);
    assert.ok(few.groups < many.groups, `${few.groups} groups of ${many.groups} are left`);
    await write(leaving.slice(0, size / 2));
    await assertCounted(store, scores);
    await counts();
    // The first version of the schema had no groups, and views that fail on U+0000.
    await server.query(`create role ${schema} login; grant usage on schema ${schema} to ${schema};
      grant select, insert, update, delete on all tables in schema ${schema} to ${schema};
      drop table ${schema}.block_groups; drop view ${schema}.documents;
      create view ${schema}.documents as
        select convert_from(r.partition, 'UTF8') as partition, convert_from(r.key, 'UTF8') as key,
          convert_from(r.value, 'UTF8') as value, to_timestamp(r.expire_at / 1000.0) as expires_at
        from ${schema}.records r;
      comment on schema ${schema} is 'Grandstand, schema version 1'`);
    assert.equal((await migratePostgres({ server: server.url, schema })).from, 1);
    assert.ok((await counts()).groups > 1, "there are no groups");
    await using upgraded = createPostgresStore({ server: server.urlOf(schema), schema });
    await assertCounted(upgraded, scores);
    await write(names.slice(0, 1_000), upgraded);
    await assertCounted(upgraded, scores);
    await counts();
  });

  it("is empty at once when it is deleted, and its rows go in the background", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await using store = createPostgresStore({ server: server.url, schema });
    const members = Array.from({ length: uncountedMembersMax + 500 }, (_, index) => `m${index}`);
    await apply(
      store,
      members.map((member): Write => ({ type: "score", op: "set", key: "b", member, score: 1 })),
    );
    const [, page] = await Promise.all([
      store.commit("p", { writes: [{ type: "delete", shape: "board", key: "b" }] }),
      store.read("p", [{ type: "board", key: "b", limit: 1 }]),
    ]);
    assert.ok([0, members.length].includes(page[0].size), "all or nothing");
    assert.equal((await store.read("p", [{ type: "board", key: "b", limit: 1 }]))[0].size, 0);
    await store.commit("p", { writes: [{ type: "put", key: "r", value: "x", expireAt: Date.now() + 1 }] });
    const sweep = `select ${schema}.sweep_1(${Date.now() + 600_000}, 60000)::int as swept`;
    let swept = 0;
    for (;;) {
      const [row] = await server.query(sweep);
      if (row?.swept === 0) break;
      swept += Number(row?.swept);
    }
    assert.ok(swept > members.length);
    for (const table of ["members", "blocks", "block_groups", "removed_heads", "records"]) {
      const [row] = await server.query(`select count(*)::int as rows from ${schema}.${table}`);
      assert.equal(row?.rows, 0, table);
    }
  });
});
