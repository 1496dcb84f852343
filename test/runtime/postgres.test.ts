/** What `GRANDSTAND_POSTGRES` may name, what a server says where it cannot work with it, and who makes its schema. */

import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { PostgresProcess, postgresAvailable } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
const [runtime] = runtimes.filter(({ skip }) => skip === false);

function run(t: TestContext, words: readonly string[], postgres: string): Program {
  assert.ok(runtime !== undefined);
  const settings = { GRANDSTAND_SECRET: secret, GRANDSTAND_PORT: "0", GRANDSTAND_POSTGRES: postgres };
  const program = start([...cliCommand(runtime), ...words], { ...settings, GRANDSTAND_METRICS_PORT: "0" });
  t.after(() => program.signal("SIGKILL"));
  return program;
}

async function assertRefused(program: Program, reason: RegExp): Promise<void> {
  assert.equal(await program.ended, 1, program.stdout());
  assert.match(program.stderr(), reason);
  assert.doesNotMatch(program.stderr(), /^ +at /m);
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

  it("makes its schema, is ready, shares its store with a worker, and is not ready while it takes no writes", async t => {
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
    program.signal("SIGTERM");
    assert.equal(await program.ended, 0, program.stderr());
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
    for (const note of [/has version 2 now; before there was none/, /has version 2 already/]) {
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
    const doctor = run(t, ["doctor", "--json"], url);
    await doctor.ended;
    const { data } = JSON.parse(doctor.stdout()) as {
      readonly data: readonly { readonly check: string; readonly status: string }[];
    };
    assert.deepEqual(
      data.slice(0, 5).map(({ check, status }) => [check, status]),
      [
        ["store", "ok"],
        ["postgres-version", "ok"],
        ["postgres-persistence", "warning"],
        ["postgres-connections", "ok"],
        ["clock", "ok"],
      ],
    );
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
