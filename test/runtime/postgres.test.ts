/** What `GRANDSTAND_POSTGRES` may name, what a server says where it cannot work with it, and who makes its schema. */

import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { PostgresProcess, postgresAvailable } from "../support/postgres.ts";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
const [runtime] = runtimes.filter(({ skip }) => skip === false);

function run(t: TestContext, words: readonly string[], postgres: string, limiter = ""): Program {
  assert.ok(runtime !== undefined);
  const settings = {
    GRANDSTAND_SECRET: secret,
    GRANDSTAND_PORT: "0",
    GRANDSTAND_POSTGRES: postgres,
    GRANDSTAND_LIMITER: limiter,
  };
  const program = start([...cliCommand(runtime), ...words], { ...settings, GRANDSTAND_METRICS_PORT: "0" });
  t.after(() => program.signal("SIGKILL"));
  return program;
}

async function assertRefused(program: Program, reason: RegExp): Promise<void> {
  assert.equal(await program.ended, 1, program.stdout());
  assert.match(program.stderr(), reason);
  assert.doesNotMatch(program.stderr(), /^ +at /m);
}

interface Finding {
  readonly check: string;
  readonly status: string;
  readonly advice: string;
}

async function examined(t: TestContext, postgres: string): Promise<readonly Finding[]> {
  const doctor = run(t, ["doctor", "--json"], postgres);
  await doctor.ended;
  return (JSON.parse(doctor.stdout()) as { readonly data: readonly Finding[] }).data;
}

describe("a server on PostgreSQL", {
  concurrency: true,
  skip: postgresAvailable() || (runtime === undefined && "nothing is built"),
}, () => {
  let server: PostgresProcess;
  before(async () => {
    server = await PostgresProcess.start(["fsync=off"]);
  });
  after(() => server.kill());

  it("makes its schema, is ready, shares its store with a worker, is not ready while it takes no writes, and stops although it hangs", {
    timeout: 180_000,
  }, async t => {
    const database = await server.freshDatabase();
    const url = server.urlOf("postgres", database);
    const program = run(t, ["serve"], url);
    const [, address = ""] = await program.match(/listens on (\S+) \(state in PostgreSQL\)/);
    const ready = async (): Promise<number> => (await fetch(`${address}/readyz`)).status;
    await until("the server is ready", async () => (await ready()) === 200);
    const worker = run(t, ["worker"], url);
    await worker.match(/works on queued actions/);
    worker.signal("SIGTERM");
    assert.equal(await worker.ended, 0, worker.stderr());
    const setReadOnly = async (value: string): Promise<void> => {
      await server.query(`alter database ${database} set default_transaction_read_only = ${value}`);
      // Connections that are open go on as before.
      await server.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`,
      );
    };
    await setReadOnly("on");
    await until("the server is not ready", async () => (await ready()) === 503);
    await setReadOnly("off");
    await until("the server is ready again", async () => (await ready()) === 200);
    const connections = await server.query(`select pid from pg_stat_activity where datname = '${database}'`);
    const signal = (name: NodeJS.Signals): void => {
      for (const { pid } of connections) process.kill(Number(pid), name);
    };
    signal("SIGSTOP");
    try {
      program.signal("SIGTERM");
      assert.equal(await program.ended, 0, program.stderr());
    } finally {
      signal("SIGCONT");
    }
  });

  it("does not start in the schema of another application, nor where nobody listens", async t => {
    const url = server.urlOf("postgres", await server.freshDatabase());
    await server.query("create schema grandstand; create table grandstand.seats (id int)", url);
    await assertRefused(
      run(t, ["serve"], url),
      /^Cannot serve: Cannot use PostgreSQL: the schema grandstand has tables of another application/m,
    );
    await assertRefused(
      run(t, ["serve"], "postgres://127.0.0.1:1/x"),
      /^Cannot serve: Cannot use PostgreSQL: the server cannot be reached/m,
    );
  });

  it("works as a user who may make no schema once one who may has run grandstand migrate", async t => {
    const database = await server.freshDatabase();
    const [owner, url] = [server.urlOf("postgres", database), server.urlOf("app", database)];
    await server.query("create role app login");
    await assertRefused(run(t, ["serve"], url), /run grandstand migrate as one who may/);
    for (const note of [/has version 3 now; before there was none/, /has version 3 already/]) {
      const migrate = run(t, ["migrate"], owner);
      assert.equal(await migrate.ended, 0, migrate.stderr());
      assert.match(migrate.stderr(), note);
    }
    await server.query("grant usage on schema grandstand to app", owner);
    await server.query(
      "grant select, insert, update, delete on all tables in schema grandstand to app",
      owner,
    );
    const program = run(t, ["serve"], url);
    await program.match(/listens on/);
    const findings = await examined(t, url);
    assert.deepEqual(
      findings.slice(0, 5).map(({ check, status }) => [check, status]),
      [
        ["store", "ok"],
        ["postgres-version", "ok"],
        ["postgres-persistence", "warning"],
        ["postgres-connections", "ok"],
        ["clock", "ok"],
      ],
    );
  });

  it("is diagnosed where it is too old, another's, of a later release, or refuses its user", async t => {
    const database = await server.freshDatabase();
    const url = server.urlOf("postgres", database);
    const adviceFor = async (user: string): Promise<string> => {
      const [store] = await examined(t, server.urlOf(user, database));
      assert.equal(store?.status, "failed");
      return store.advice;
    };
    await server.query("create role poor login", url);
    assert.match(await adviceFor("poor"), /^Run grandstand migrate as a user who may/);
    await server.query("create schema grandstand; create table grandstand.seats (id int)", url);
    assert.match(await adviceFor("postgres"), /^Name a database in GRANDSTAND_POSTGRES that has no such/);
    await server.query(
      "drop schema grandstand cascade; create schema grandstand; " +
        "comment on schema grandstand is 'Grandstand, schema version 99, for processes of version 99 or later'",
      url,
    );
    assert.match(await adviceFor("postgres"), /^Install the release that made the schema/);
    // The server answers this user from a function in a schema of the user.
    await server.query(
      `create role late superuser login; create schema old; alter role late set search_path = old, pg_catalog;
       create function old.current_setting(text) returns text language sql as
         $$ select case $1 when 'server_version_num' then '130014' else '13.14' end $$`,
      url,
    );
    assert.match(await adviceFor("late"), /^Upgrade PostgreSQL/);
  });

  it("counts rate limits where GRANDSTAND_LIMITER says", { skip: redisAvailable() }, async t => {
    const url = server.urlOf("postgres", await server.freshDatabase());
    await using redis = await startRedis();
    const headers = { authorization: `Bearer gst_${"0".repeat(32)}_${"0".repeat(43)}` };
    for (const limiter of [redis.url, "memory", ""]) {
      const program = run(t, ["serve"], url, limiter);
      const [, address = ""] = await program.match(/listens on (\S+)/);
      const isCounted = async (): Promise<boolean> => {
        assert.equal((await fetch(`${address}/api/v2/me`, { headers })).status, 401);
        if (limiter === redis.url) return (await redis.command("DBSIZE")) !== 0;
        const [row] = await server.query("select count(*) as counted from grandstand.limits", url);
        return Number(row?.counted) > 0;
      };
      // A request that met no connection in time was counted by the process alone.
      if (limiter !== "memory") await until("a request is counted", isCounted);
      else assert.equal(await isCounted(), false);
      program.signal("SIGTERM");
      await program.ended;
    }
  });

  it("keeps its schema from commands that are not for it", async t => {
    const backup = run(t, ["backup", "b"], server.url);
    assert.equal(await backup.ended, 2);
    assert.match(backup.stderr(), /PostgreSQL has its own backups/);
    const migrate = run(t, ["migrate", "--redis", "redis://127.0.0.1"], "");
    assert.equal(await migrate.ended, 2);
    assert.match(migrate.stderr(), /migrate is for PostgreSQL/);
  });
});
