import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createPostgresStore } from "../../../adapters/postgres/mod.ts";
import { BoardWriter } from "../../http/_boards.ts";
import { type Fan, ids, openPlatform, seed, type TestPlatform } from "../../support/platform.ts";
import { freshSchema, postgresAvailable, sharedPostgres } from "../../support/postgres.ts";

type Row = Readonly<Record<string, unknown>>;

describe("the views of an analyst", { skip: postgresAvailable() }, () => {
  const schema = freshSchema();
  const home = { organisation: ids.organisation, space: ids.space, project: ids.project };
  let world: TestPlatform;
  let sam: Fan;
  let kim: Fan;
  let select: (text: string) => Promise<readonly Row[]>;

  before(async () => {
    const server = await sharedPostgres();
    const leaderboards = [{ id: "laps", order: "asc", operator: "best" }];
    const events = (seed.events ?? []).map(event => ({ ...event, settings: { leaderboards } }));
    world = await openPlatform(async clock => createPostgresStore({ server: server.url, schema, clock }), {
      seed: { ...seed, events },
    });
    [sam, kim] = [await world.fan("Sam"), await world.fan("Kim Ö")];
    await server.query(`create role ${schema} login`);
    await server.query(`grant usage on schema ${schema} to ${schema}`);
    await server.query(
      `grant select on ${["projects", "users", "balances", "entries"].map(view => `${schema}.${view}`)} to ${schema}`,
    );
    select = text => server.query(`set search_path = ${schema}; ${text}`, server.urlOf(schema));
  });
  after(() => world.dispose());

  it("show users and projects, to a role that may read nothing else", async () => {
    const { signUp } = JSON.parse(
      (await world.store.read(`p:${ids.project}:user:${sam.userId}`, [{ type: "record", key: "user" }]))[0]
        ?.value ?? "{}",
    );
    const rows = await select("select * from users order by name desc");
    const common = { ...home, provider: "noLogin", is_banned: false, merged_into: null };
    assert.deepEqual(
      rows.map(({ signed_up_at, logged_in_at, ...row }) => row),
      [
        { ...common, user_id: sam.userId, name: "Sam" },
        { ...common, user_id: kim.userId, name: "Kim Ö" },
      ],
    );
    assert.deepEqual(rows[0]?.signed_up_at, new Date(signUp * 1_000));
    assert.deepEqual(rows[0]?.logged_in_at, new Date(signUp * 1_000));
    assert.deepEqual(await select(`select * from projects where project = '${ids.project}'`), [
      { ...home, name: "Club app", is_archived: false },
    ]);
    await assert.rejects(select("select * from documents"), /permission denied/);
  });

  it("show the balances that the profile shows, and what was earned and spent", async () => {
    for (const outcome of ["exact", "right", "right"]) await sam.act("prediction", { outcome });
    await sam.act("rest");
    await kim.act("prediction", { outcome: "right" });
    const bought = await world.call("/v1/api/audience/products/poster/redeem", {
      token: sam.token,
      headers: { "x-platform-org-id": ids.organisation },
      body: {},
    });
    assert.ok(bought.status < 300, bought.text);
    for (const fan of [sam, kim]) {
      const rows = await select(`select * from balances where user_id = '${fan.userId}'`);
      const { metrics } = await fan.profile();
      assert.ok(rows.length > 0);
      for (const { currency, balance, organisation, space, project } of rows) {
        assert.deepEqual([Number(balance), { organisation, space, project }], [metrics[`${currency}`], home]);
      }
    }
    const [row] = await select(
      `select * from balances where user_id = '${sam.userId}' and currency = 'points'`,
    );
    assert.deepEqual([row?.balance, row?.earned, row?.spent, row?.due_at], ["14", "15", "1", null]);
    assert.deepEqual(row?.changed_at, new Date(world.clock.now()));
    const merged = JSON.stringify({ metrics: { points: 1 }, mergedInto: sam.userId });
    await world.store.commit(`o:${ids.organisation}:loyalty:merged`, {
      writes: [{ type: "put", key: "loyalty", value: merged }],
    });
    assert.deepEqual(await select("select * from balances where user_id = 'merged'"), []);
  });

  it("show the entries that leaderboards show, whatever their order", async () => {
    const writer = await BoardWriter.create(world);
    const project = `/projects/${ids.project}/leaderboards`;
    const event = `/projects/${ids.project}/events/${ids.event}/leaderboards`;
    for (const [path, score] of [
      [`${project}/speed`, 9.58],
      [`${project}/goals`, 3],
      [`${event}/laps`, 0],
    ] as const) {
      await writer.put(path, kim.userId, { score, operator: "best" });
      await writer.put(path, sam.userId, { score: score + 1.5, operator: "best" });
    }
    await world.platform.idle();
    for (const [path, where] of [
      [`${project}/speed`, "board = 'speed' and event is null"],
      [`${project}/goals`, "board = 'goals' and event is null"],
      [`${event}/laps`, `board = 'laps' and event = '${ids.event}'`],
      [`${project}/overall`, "board = 'overall' and event is null and season is null"],
    ]) {
      const { json } = await world.call(`${path}`);
      const shown = json.data.map(({ userId, score }: Row) => ({ ...home, user_id: userId, score }));
      const order = /speed|laps/.test(`${path}`) ? "asc" : "desc";
      const rows = await select(
        `select organisation, space, project, user_id, score from entries where ${where} order by score ${order}, reached_at`,
      );
      assert.ok(rows.length === 2, path);
      assert.deepEqual(rows, shown, path);
    }
  });

  it("show what jsonb and texts cannot hold as U+FFFD or null, and everything else beside it", async () => {
    const user = { username: "\0a\0\0b\\u0000", provider: "noLogin", signUp: 1, loginHistory: [] };
    const [even, broken] = [`p:${ids.project}:user:%25odd%3A`, `p:${ids.project}:user:broken`];
    await world.store.commit(even, { writes: [{ type: "put", key: "user", value: JSON.stringify(user) }] });
    await world.store.commit(broken, { writes: [{ type: "put", key: "user", value: "{\0" }] });
    await world.store.commit(`p:\0:user:${ids.project}`, {
      writes: [{ type: "put", key: "user", value: "{}" }],
    });
    const rows = await select("select user_id, name from users order by user_id nulls last");
    const odd = rows.filter(row => ![sam.userId, kim.userId].includes(`${row.user_id}`));
    assert.deepEqual(odd, [
      { user_id: "%odd:", name: "\ufffda\ufffd\ufffdb\\u0000" },
      { user_id: "broken", name: null },
    ]);
  });
});
