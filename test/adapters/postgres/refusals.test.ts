/** What PostgreSQL breaks off or has no room for: nothing of it is applied, and the adapter works on once it can. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFileSync, chownSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Client } from "pg";
import { Load } from "../../../adapters/conformance/load.ts";
import { laneOf, lockOf } from "../../../adapters/postgres/locks.ts";
import {
  createPostgresBlobs,
  createPostgresLimiter,
  createPostgresQueue,
  createPostgresStore,
  migratePostgres,
} from "../../../adapters/postgres/mod.ts";
import { answerMsMax, attemptsMax, closeMsMax } from "../../../adapters/postgres/options.ts";
import type { Store } from "../../../lib/storage/mod.ts";
import {
  asUser,
  connect,
  freshSchema,
  type PostgresProcess,
  postgresAvailable,
  sharedPostgres,
} from "../../support/postgres.ts";
import { assertInTime, until } from "../../support/until.ts";

const unavailable = { name: "AppError", code: "storage_unavailable" };

function put(store: Store, key = "k"): Promise<unknown> {
  return store.commit("p", { writes: [{ type: "put", key, value: "1" }] });
}

async function waitsFor(server: PostgresProcess, what: string, database = "postgres"): Promise<void> {
  await until(`somebody waits for ${what}`, async () => {
    const waiting = await server.query(
      `select from pg_stat_activity where datname = '${database}' and application_name = 'grandstand' and wait_event = '${what}'`,
    );
    return waiting.length > 0;
  });
}

/** Lets migrations of a database wait in the middle for as long as the connection holds a lock. */
async function holdMigrations(server: PostgresProcess, holder: Client, url: string): Promise<void> {
  await holder.query("select pg_advisory_lock(1)");
  await server.query(
    `create function hold() returns event_trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(1); end $$`,
    url,
  );
  await server.query(
    "create event trigger hold on ddl_command_end when tag in ('CREATE VIEW') execute function hold()",
    url,
  );
}

describe("a PostgreSQL server that breaks calls off", {
  skip: postgresAvailable(),
  concurrency: true,
}, () => {
  it("applies nothing of a commit that takes longer than a statement may", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await using store = createPostgresStore({ server: server.url, schema });
    await put(store);
    await using other = await connect(server.url);
    await other.query(`begin; lock table ${schema}.records in exclusive mode`);
    const start = performance.now();
    await assert.rejects(put(store, "late"), { ...unavailable, message: /statement timeout/ });
    assertInTime(start, answerMsMax);
    await other.query("rollback");
    assert.deepEqual(await store.read("p", [{ type: "record", key: "late" }]), [null]);
    await put(store, "late");
  });

  it("applies what waits behind a commit that takes too long, but for what waits for the same partition", async () => {
    const server = await sharedPostgres();
    const database = await server.freshDatabase();
    const url = server.urlOf("postgres", database);
    await using store = createPostgresStore({ server: url });
    await put(store);
    const lane = (partition: string): number => Number(laneOf([0, 1, 2, 3], lockOf("grandstand", partition)));
    const names = Array.from({ length: 100 }, (_, n) => `n${n}`);
    const neighbour = names.find(name => lane(name) === lane("p")) ?? "";
    await using other = await connect(url);
    await other.query(`select pg_advisory_lock(${lockOf("grandstand", "p")})`);
    const slow = assert.rejects(put(store), { ...unavailable, message: /statement timeout/ });
    await waitsFor(server, "advisory", database);
    const same = assert.rejects(put(store), { ...unavailable, message: /a call before this one failed/ });
    const beside = store.commit(neighbour, { writes: [{ type: "put", key: "k", value: "1" }] });
    await Promise.all([slow, same]);
    assert.equal((await beside).ok, true);
  });

  it("is left in the time of one call, however many wait", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    const queue = createPostgresQueue({ server: server.url, schema });
    assert.equal(await queue.depth("t"), 0);
    await using other = await connect(server.url);
    await other.query(`begin; lock table ${schema}.topics`);
    const calls = Array.from({ length: 10 }, () => assert.rejects(queue.depth("t"), unavailable));
    const start = performance.now();
    await queue[Symbol.asyncDispose]();
    assertInTime(start, answerMsMax + closeMsMax);
    await Promise.all(calls);
  });

  it("goes on with the schema where that takes longer than a call", async () => {
    const server = await sharedPostgres();
    const database = await server.freshDatabase();
    const url = server.urlOf("postgres", database);
    await using other = await connect(url);
    await holdMigrations(server, other, url);
    await using store = createPostgresStore({ server: url });
    const read = (): Promise<unknown> => store.read("p", [{ type: "record", key: "k" }]);
    const start = performance.now();
    await assert.rejects(read(), { ...unavailable, message: /its schema is not made yet/ });
    assertInTime(start, answerMsMax);
    const next = read();
    await other.query("select pg_advisory_unlock(1)");
    assert.deepEqual(await next, [null]);
    const text =
      "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    assert.equal((await other.query(`${text} and application_name = 'grandstand'`)).rows.length, 1);
  });

  it("repeats a commit that was chosen to end a deadlock", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await using store = createPostgresStore({ server: server.url, schema });
    const add = (): Promise<unknown> =>
      store.commit("p", { writes: [{ type: "add", key: "t", field: "n", by: 1 }] });
    await add();
    await using other = await connect(server.url);
    // The commit begins to wait first, and looks for a deadlock a second later.
    await other.query("set deadlock_timeout = '1min'; begin");
    await other.query(`select from ${schema}.fields for update`);
    const waiting = add();
    await waitsFor(server, "transactionid");
    await other.query(`select pg_advisory_xact_lock(${lockOf(schema, "p")})`);
    await other.query("commit");
    await waiting;
    const [tally] = await store.read("p", [{ type: "tally", key: "t" }]);
    assert.equal(tally.get("n"), 2);
  });

  it("repeats a commit that it cannot serialize, up to a bound", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await using store = createPostgresStore({ server: server.url, schema });
    await store.ping();
    // A sequence counts on when a transaction is rolled back.
    await server.query(`
      create sequence ${schema}.attempts;
      create function ${schema}.conflict() returns trigger language plpgsql as $$ begin
        if nextval('${schema}.attempts') < ${2 * attemptsMax} then
          raise exception using errcode = 'serialization_failure', message = 'in conflict';
        end if;
        return new;
      end $$;
      create trigger conflict before insert on ${schema}.records for each row execute function ${schema}.conflict()`);
    await assert.rejects(put(store), { ...unavailable, message: /in conflict/ });
    await put(store);
    const [row] = await server.query(`select last_value::int as attempts from ${schema}.attempts`);
    assert.equal(row?.attempts, 2 * attemptsMax);
  });

  it("leaves a database as it was when the connection of a migration is cut in the middle", async () => {
    const server = await sharedPostgres();
    const database = await server.freshDatabase();
    const url = server.urlOf("postgres", database);
    await using other = await connect(url);
    await holdMigrations(server, other, url);
    const migration = migratePostgres({ server: url });
    const outcome = assert.rejects(migration, { ...unavailable, message: /terminating connection/ });
    await waitsFor(server, "advisory", database);
    await server.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = '${database}' and application_name = 'grandstand'`,
    );
    await outcome;
    const [row] = await server.query("select to_regnamespace('grandstand') as found", url);
    assert.equal(row?.found, null);
    await server.query("drop event trigger hold", url);
    assert.equal((await migratePostgres({ server: url })).from, 0);
    await using store = createPostgresStore({ server: url });
    await put(store);
  });
});

describe("a PostgreSQL server without room", { skip: postgresAvailable() }, () => {
  it("is asked over at most 16 connections, however many calls come at once", async () => {
    const server = await sharedPostgres();
    const database = await server.freshDatabase();
    const options = { server: server.urlOf("postgres", database) };
    await using store = createPostgresStore(options);
    await using queue = createPostgresQueue(options);
    await using limiter = createPostgresLimiter(options);
    await using blobs = createPostgresBlobs(options);
    const rule = { name: "r", limit: 1_000, windowMs: 60_000 };
    const storm = Array.from({ length: 300 }, (_, n) => [
      store.commit(`p${n}`, { writes: [{ type: "put", key: "k", value: "1" }] }),
      store.read(`p${n}`, [{ type: "record", key: "k" }]),
      queue.push("t", ["body"]),
      queue.depth("t"),
      limiter.take(`s${n}`, [rule]),
      blobs.put(`b${n % 10}`, new Blob(["bytes"]).stream()),
    ]).flat();
    let [isOver, most] = [false, 0];
    const end = Promise.all(storm).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const [row] = await server.query(
        `select count(*)::int as open from pg_stat_activity where datname = '${database}'`,
      );
      most = Math.max(most, Number(row?.open));
    }
    await end;
    assert.ok(most > 10 && most <= 16, `${most} connections`);
  });

  it("is asked over those connections that it grants, and over more once there is room", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await migratePostgres({ server: server.url, schema });
    await server.query(`create role ${schema} login connection limit 4`);
    await server.query(
      `grant usage on schema ${schema} to ${schema}; grant select, insert, update, delete on all tables in schema ${schema} to ${schema}`,
    );
    await using store = createPostgresStore({ server: server.urlOf(schema), schema });
    const commit = (n: number): Promise<unknown> =>
      store.commit(`p${n}`, { writes: [{ type: "put", key: "k", value: "1" }] });
    const read = (n: number): Promise<unknown> => store.read(`p${n}`, [{ type: "record", key: "k" }]);
    const all = (): Promise<PromiseSettledResult<unknown>[]> =>
      Promise.allSettled(Array.from({ length: 40 }, (_, n) => [commit(n), read(n)]).flat());
    const outcomes = await all();
    const reasons = outcomes.flatMap(outcome => (outcome.status === "rejected" ? [`${outcome.reason}`] : []));
    assert.ok(reasons.length < outcomes.length, "nothing worked");
    assert.match(reasons.join("\n"), /^AppError: Cannot use PostgreSQL: .*too many connections/m);
    await server.query(`alter role ${schema} connection limit 20`);
    await until("every call works", async () => (await all()).every(({ status }) => status === "fulfilled"));
  });

  it("keeps what it acknowledged when its disk is full, and works on once there is room", async t => {
    const folder = mkdtempSync(join(tmpdir(), "gs-disk-"));
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], {
      encoding: "utf8",
    });
    if (mounted.status !== 0) {
      rmSync(folder, { recursive: true });
      return t.skip("only root may mount a small disk");
    }
    chownSync(folder, asUser.uid ?? 0, asUser.gid ?? 0);
    const [server, name] = [await sharedPostgres(), freshSchema()];
    try {
      await server.query(`create tablespace ${name} location '${folder}'`);
      await server.query(`create database ${name} tablespace ${name}`);
      {
        await using store = createPostgresStore({ server: server.urlOf("postgres", name) });
        await using load = new Load(store);
        await load.more("ok", 200);
        // The load takes what a last write of the ballast does not.
        const ballast = Buffer.alloc(65_536);
        while (statfsSync(folder).bavail * statfsSync(folder).bsize > 2 * ballast.length) {
          appendFileSync(join(folder, "ballast"), ballast);
        }
        await load.more("storage_unavailable", 100);
        await assert.rejects(
          store.commit("p", {
            writes: [{ type: "put", key: "k", value: randomBytes(400_000).toString("hex") }],
          }),
          { ...unavailable, message: /No space left on device/ },
        );
        rmSync(join(folder, "ballast"));
        await load.more("ok", 200);
        await load.stop();
        await load.verify();
      }
      await server.query(`drop database ${name} with (force)`);
      await server.query(`drop tablespace ${name}`);
    } finally {
      spawnSync("umount", ["--lazy", folder]);
      rmSync(folder, { recursive: true });
    }
  });
});
