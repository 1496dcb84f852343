/** Queue, limiter and files on PostgreSQL, beyond what their contracts ask of every adapter. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import {
  createPostgresBlobs,
  createPostgresLimiter,
  createPostgresQueue,
  createPostgresStore,
} from "../../../adapters/postgres/mod.ts";
import { storageLimits } from "../../../lib/storage/mod.ts";
import { connect, freshSchema, postgresAvailable, sharedPostgres } from "../../support/postgres.ts";
import { bundledProgram } from "../../support/program.ts";
import { until } from "../../support/until.ts";

describe("a PostgreSQL queue", { skip: postgresAvailable() }, () => {
  it("takes from a long queue with as little work as from a short one", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await using queue = createPostgresQueue({ server: server.url, schema });
    await queue.depth("t");
    await using connection = await connect(server.url);
    /** Returns the number of pages that a take looks at. The connection plans its first take of an empty table. */
    const take = async (now: number, until: number, limit = 10): Promise<number> => {
      const { rows } = await connection.query(
        `explain (analyze, buffers, format json) select * from ${schema}.take_1('t', ${now}, ${until}, ${limit})`,
      );
      const [{ Plan: plan }] = rows[0]["QUERY PLAN"];
      return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    };
    const bodies = Array.from({ length: storageLimits.queueBatchMax }, () => "x".repeat(1_000));
    await take(0, 10);
    await queue.push("t", bodies.slice(0, 30));
    const few = 3 * Math.max(await take(0, 10), await take(10, 20));
    for (let n = 0; n < 20; n++) await queue.push("t", bodies);
    for (const [what, pages] of [
      ["new ones while leases last", await take(10, 90)],
      ["some whose leases ended", await take(20, 90, 5)],
      ["the rest of those, and new ones", await take(20, 90)],
    ] as const) {
      assert.ok(pages < few, `${what}: ${pages} pages instead of ${few}`);
    }
  });

  it("hands out what a killed process had taken once the lease has ended, and not before", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    let ahead = 0;
    const clock = (): number => Date.now() + ahead;
    await using queue = createPostgresQueue({ server: server.url, schema, clock });
    const ids = await queue.push("t", ["a"]);
    const script = bundledProgram(new URL("./take_process.ts", import.meta.url));
    const taker = spawn(process.execPath, [script, server.url, schema], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [id] = await once(taker.stdout, "data");
    taker.kill("SIGKILL");
    await once(taker, "close");
    assert.equal(`${id}`, `${ids[0]}\n`);
    const lease = { consumer: "d", limit: 9, leaseMs: 1_000 };
    assert.deepEqual(await queue.take("t", lease), []);
    ahead = 60_000;
    assert.deepEqual(await queue.take("t", lease), [{ id: ids[0], body: "a", attempts: 2 }]);
    await queue.ack("t", ids);
    assert.equal(await queue.depth("t"), 0);
  });
});

describe("a PostgreSQL limiter", { skip: postgresAvailable() }, () => {
  it("forgets what was spent although it is spent from at the same time", async () => {
    const server = await sharedPostgres();
    const database = await server.freshDatabase();
    const url = server.urlOf("postgres", database);
    await using limiter = createPostgresLimiter({ server: url });
    await using peer = createPostgresLimiter({ server: url });
    const rule = { name: "r", limit: 10, windowMs: 3_600_000 };
    await limiter.take("s", [rule]);
    await peer.reset("other", [rule]);
    await using holder = await connect(url);
    await holder.query("select pg_advisory_lock(1)");
    // The next use has read the units, and waits before it writes them.
    await server.query(
      `create function hold() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock(1); return new; end $$;
      create trigger hold before insert on grandstand.limits for each row execute function hold()`,
      url,
    );
    const waiting = async (): Promise<number> => {
      const { rows } = await holder.query(
        "select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'",
      );
      return rows.length;
    };
    const use = limiter.take("s", [rule]);
    await until("the use waits", async () => (await waiting()) === 1);
    let isDone = false;
    const reset = peer.reset("s", [rule]).then(() => {
      isDone = true;
    });
    await until("the reset waits, or is done", async () => isDone || (await waiting()) === 2);
    await holder.query("select pg_advisory_unlock(1)");
    await Promise.all([use, reset]);
    const [verdict] = await limiter.take("s", [rule]);
    assert.equal(verdict?.remaining, 9);
  });
});

describe("garbage in PostgreSQL", { skip: postgresAvailable() }, () => {
  it("is removed every 10 s by each part of the adapter, as the clock of the server says", async t => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    const options = { server: server.url, schema };
    const [start, hour] = [Date.now(), 3_600_000];
    {
      const past = { ...options, clock: () => start - hour };
      await using store = createPostgresStore(past);
      await using limiter = createPostgresLimiter(past);
      await store.commit("p", {
        writes: [
          { type: "put", key: "old", value: "x", expireAt: start - hour / 2 },
          { type: "put", key: "live", value: "x", expireAt: start + hour / 2 },
          { type: "add", key: "t", field: "f", by: 1 },
        ],
      });
      await store.commit("p", { writes: [{ type: "delete", shape: "tally", key: "t" }] });
      await limiter.take("s", [{ name: "r", limit: 10, windowMs: 1_000 }]);
    }
    await server.query(`insert into ${schema}.uploads select gen_random_uuid(), 1 from generate_series(1, 2);
      insert into ${schema}.chunks select u.id, n, 'x' from ${schema}.uploads u, generate_series(1, 100) n`);
    // A process that only reads never learns that its clock is an hour ahead.
    t.mock.method(Date, "now", () => performance.timeOrigin + performance.now() + hour);
    t.mock.timers.enable({ apis: ["setInterval"] });
    await using _store = createPostgresStore(options);
    await using _limiter = createPostgresLimiter(options);
    await using _blobs = createPostgresBlobs(options);
    t.mock.timers.tick(10_000);
    for (const [table, left] of Object.entries({
      records: 1,
      fields: 0,
      removed_heads: 0,
      limits: 0,
      uploads: 0,
      chunks: 0,
    })) {
      await until(`${table} are swept`, async () => {
        const [row] = await server.query(`select count(*)::int as rows from ${schema}.${table}`);
        return Number(row?.rows) <= left;
      });
    }
    const rows = await server.query(`select convert_from(key, 'UTF8') as key from ${schema}.records`);
    assert.deepEqual(rows, [{ key: "live" }]);
  });

  it("of large files is removed in small parts", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await using blobs = createPostgresBlobs({ server: server.url, schema });
    assert.equal(await blobs.get("none"), null);
    await server.query(`insert into ${schema}.uploads values (gen_random_uuid(), 1);
      insert into ${schema}.chunks select u.id, n, 'x' from ${schema}.uploads u, generate_series(1, 100) n`);
    for (const sweep of ["sweep_uploads_1(null)", "sweep_1(2, 0)"]) {
      await server.query(`select ${schema}.${sweep}`);
      const [row] = await server.query(`select count(*)::int as rows from ${schema}.chunks`);
      assert.equal(row?.rows, sweep === "sweep_1(2, 0)" ? 36 : 68);
    }
  });
});
