import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { failuresConformance } from "../../../adapters/conformance/mod.ts";
import { createPostgresQueue, createPostgresStore, migratePostgres } from "../../../adapters/postgres/mod.ts";
import { answerMsMax, closeMsMax, pendingCallsMax } from "../../../adapters/postgres/options.ts";
import { type PartitionLister, type Store, storageTimes } from "../../../lib/storage/mod.ts";
import {
  connect,
  freshSchema,
  PostgresProcess,
  postgresAvailable,
  sharedPostgres,
} from "../../support/postgres.ts";
import { assertInTime, until } from "../../support/until.ts";
import { MovingAddress } from "../moving_address.ts";

const unavailable = { name: "AppError", code: "storage_unavailable" };

function put(store: Store, key = "k"): Promise<unknown> {
  return store.commit("p", { writes: [{ type: "put", key, value: "1" }] });
}

async function listed(store: PartitionLister): Promise<void> {
  for await (const _ of store.partitions({ prefix: "", record: "k" }));
}

/** Switches all later transactions of the server to reading alone, or back. Connections may hear of it later. */
async function setReadOnly(server: PostgresProcess, value: "on" | "off"): Promise<void> {
  await server.query(`alter system set default_transaction_read_only = ${value}`);
  await server.query("select pg_reload_conf()");
  await until(`read only is ${value}`, async () => {
    const [row] = await server.query("show default_transaction_read_only");
    return row?.default_transaction_read_only === value;
  });
}

describe("a PostgreSQL store whose server fails", { skip: postgresAvailable() }, () => {
  let server: PostgresProcess;
  before(async () => {
    // A stop of the server loses what is not in its log, which the system keeps; nothing here stops the system.
    server = await PostgresProcess.start(["fsync=off"]);
  });
  after(() => server.kill());

  failuresConformance({
    describe,
    it,
    factory() {
      const store = createPostgresStore({ server: server.url, schema: freshSchema() });
      return {
        store,
        cut: () => server.cut(),
        stop: () => server.kill(),
        start: () => server.launch(),
        hang: () => server.freeze(),
        resume: () => server.thaw(),
        async refuseWrites(isRefused) {
          await setReadOnly(server, isRefused ? "on" : "off");
          await server.cut();
        },
        async dispose() {
          await store[Symbol.asyncDispose]();
        },
      };
    },
  });

  it("loses and doubles nothing between two clients, whose commits wait for each other", async () => {
    const schema = freshSchema();
    const stores = [0, 1].map(() => createPostgresStore({ server: server.url, schema }));
    const add = (store: Store, n: number): Promise<unknown> =>
      store.commit(`p${n % 3}`, { writes: [{ type: "add", key: "t", field: "n", by: 1 }] });
    await Promise.all(Array.from({ length: 300 }, (_, n) => add(stores[n % 2] as Store, n)));
    let sum = 0;
    for (const n of [0, 1, 2]) {
      const [tally] = await (stores[0] as Store).read(`p${n}`, [{ type: "tally", key: "t" }]);
      sum += tally.get("n") ?? 0;
    }
    assert.equal(sum, 300);
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  it("is not ready while the server takes no writes, and says why", async () => {
    await using store = createPostgresStore({ server: server.url, schema: freshSchema() });
    await put(store);
    await setReadOnly(server, "on");
    await until("the connections have heard of it", () =>
      store.ping().then(
        () => false,
        () => true,
      ),
    );
    await assert.rejects(put(store), { ...unavailable, message: /read-only/ });
    await assert.rejects(store.ping(), { ...unavailable, message: /takes no writes/ });
    await setReadOnly(server, "off");
    await until("the store is ready", () =>
      store.ping().then(
        () => true,
        () => false,
      ),
    );
  });

  it("sends nothing again whose time is over, and closes although the server hangs", {
    timeout: 120_000,
  }, async t => {
    // A sweep would open a connection, too.
    t.mock.timers.enable({ apis: ["setInterval"] });
    await using address = await MovingAddress.to(server.port);
    const url = `postgres://postgres@127.0.0.1:${address.port}/postgres`;
    const store = createPostgresStore({ server: url, schema: freshSchema() });
    const read = (): Promise<unknown> => store.read("p", [{ type: "record", key: "k" }]);
    await store.ping();
    await put(store);
    await read();
    const { opened } = address;
    await server.freeze();
    try {
      const start = performance.now();
      for (const [call, ms] of [
        [store.ping(), storageTimes.pingMsMax],
        [read(), answerMsMax],
      ] as const) {
        await assert.rejects(call, unavailable);
        assertInTime(start, ms);
      }
      assert.equal(address.opened, opened);
      const closing = performance.now();
      await store[Symbol.asyncDispose]();
      assertInTime(closing, closeMsMax);
    } finally {
      await server.thaw();
    }
  });

  it("cannot tell what became of a commit or a push whose connection was ended, in whichever language it hears of that", async () => {
    const schema = freshSchema();
    await using address = await MovingAddress.to(server.port);
    const options = { server: `postgres://postgres@127.0.0.1:${address.port}/postgres`, schema };
    await using store = createPostgresStore(options);
    await using queue = createPostgresQueue(options);
    const writes = [() => put(store), () => queue.push("t", ["a", "b"])];
    for (const write of writes) await write();
    // The severity for people alone is translated.
    address.rewrite = answer =>
      Buffer.from(answer.toString("latin1").replace("SFATAL\0", "SFATUM\0"), "latin1");
    await using other = await connect(server.url);
    for (const write of writes) {
      await other.query(
        `begin; select from ${schema}.records for update; select from ${schema}.topics for update`,
      );
      const outcome = assert.rejects(write(), { name: "AppError", code: "outcome_unknown" });
      await until("it waits", async () => {
        const waiting = await other.query(
          "select from pg_stat_activity where application_name = 'grandstand' and wait_event_type = 'Lock'",
        );
        return waiting.rows.length === 1;
      });
      await other.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'grandstand' and wait_event_type = 'Lock'`,
      );
      await outcome;
      await other.query("rollback");
    }
    assert.equal(await queue.depth("t"), 2);
    await queue.push("t", ["c"]);
    const taken = await queue.take("t", { consumer: "c", limit: 10, leaseMs: 1_000 });
    assert.deepEqual(
      taken.map(({ body }) => body),
      ["a", "b", "c"],
    );
  });

  it("accepts no more calls than it can keep in mind", async () => {
    await using store = createPostgresStore({ server: server.url, schema: freshSchema() });
    await put(store);
    const calls = Array.from({ length: pendingCallsMax + 1 }, () =>
      store.read("p", [{ type: "record", key: "k" }]).then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
    const refusals = (await Promise.all(calls)).filter(error => error !== undefined);
    const message = "Cannot use PostgreSQL: 20000 calls already wait for it";
    assert.throws(
      () => {
        throw refusals.at(-1);
      },
      { ...unavailable, message, retryAfterMs: 1_000 },
    );
  });

  it("is pinged while it lists partitions, which waits", async () => {
    const schema = freshSchema();
    await using store = createPostgresStore({ server: server.url, schema });
    await store.ping();
    await using other = await connect(server.url);
    await other.query(`begin; lock table ${schema}.records`);
    let isListed = false;
    const listing = listed(store)
      .catch(() => undefined)
      .finally(() => {
        isListed = true;
      });
    await store.ping();
    assert.equal(isListed, false);
    assert.equal((await store.warnings?.())?.length, 1);
    assert.equal(isListed, false);
    await other.query("rollback");
    await listing;
  });

  it("fails in time where there is no server, and closes", async () => {
    const store = createPostgresStore({ server: "postgres://127.0.0.1:1/none", schema: freshSchema() });
    await assert.rejects(put(store), { ...unavailable, retryAfterMs: 1_000 });
    await assert.rejects(store.read("p", [{ type: "record", key: "k" }]), unavailable);
    await assert.rejects(store.ping(), { ...unavailable, message: /cannot be reached \(connect E\w+/ });
    await store[Symbol.asyncDispose]();
    await assert.rejects(put(store), unavailable);
  });
});

describe("the schema of a PostgreSQL store", { skip: postgresAvailable() }, () => {
  it("is made once, however many processes begin at the same time", async () => {
    const [server, schema] = [(await sharedPostgres()).url, freshSchema()];
    const stores = Array.from({ length: 4 }, () => createPostgresStore({ server, schema }));
    await Promise.all(stores.map((store, n) => put(store, `k${n}`)));
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  it("shows what is stored as texts to those who read it with SQL, but for what has expired", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await using store = createPostgresStore({ server: server.url, schema });
    await store.commit("pä", {
      writes: [
        { type: "put", key: "k", value: '{"name":"Ä"}' },
        { type: "put", key: "old", value: "x", expireAt: Date.now() + 1 },
        { type: "put", key: "bytes", value: "\0" },
        { type: "add", key: "t", field: "f", by: 3 },
        { type: "score", op: "set", key: "b", member: "m", score: 1.5 },
        { type: "append", key: "l", value: "x", at: 1_000, maxLength: 9 },
      ],
    });
    await until("one has expired", async () => {
      const documents = await server.query(`select partition, key, value from ${schema}.documents`);
      return (
        documents.length === 1 && documents[0]?.value === '{"name":"Ä"}' && documents[0]?.partition === "pä"
      );
    });
    await store.commit("p\0", {
      writes: [
        { type: "put", key: "k\0", value: "" },
        { type: "add", key: "k\0", field: "f\0", by: 1 },
        { type: "score", op: "set", key: "k\0", member: "m\0", score: 1 },
        { type: "append", key: "k\0", value: "\0", at: 1, maxLength: 9 },
      ],
    });
    for (const view of ["documents", "tallies", "boards", "logs"]) {
      const rows = await server.query(
        `select from ${schema}.${view} where partition like 'p%' and length(key) > 0 and ${view}::text <> ''`,
      );
      assert.equal(rows.length, 1, view);
    }
    const [row] = await server.query(
      `select t.value::int as sum, b.score, l.value, extract(epoch from l.at)::int as at
        from ${schema}.tallies t, ${schema}.boards b, ${schema}.logs l`,
    );
    assert.deepEqual(row, { sum: 3, score: 1.5, value: "x", at: 1 });
  });

  it("is refused where another application has it, or a later release made it", async () => {
    const server = await sharedPostgres();
    const [foreign, later] = [freshSchema(), freshSchema()];
    await server.query(`create schema ${foreign}; create table ${foreign}.orders (id int)`);
    await using other = createPostgresStore({ server: server.url, schema: foreign });
    await assert.rejects(put(other), { ...unavailable, message: /tables of another application/ });
    await server.query(
      `create schema ${later}; comment on schema ${later} is 'Grandstand, schema version 99'`,
    );
    await using old = createPostgresStore({ server: server.url, schema: later });
    await assert.rejects(put(old), { ...unavailable, message: /has version 99, .* a later release made it/ });
  });

  it("serves processes of a release before for as long as the later one says so", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    const { version } = await migratePostgres({ server: server.url, schema });
    const mark = (served: number): Promise<unknown> =>
      server.query(
        `comment on schema ${schema} is 'Grandstand, schema version 99, for processes of version ${served} or later'`,
      );
    await mark(version);
    {
      await using store = createPostgresStore({ server: server.url, schema });
      await put(store);
      assert.equal((await migratePostgres({ server: server.url, schema })).version, 99);
    }
    await mark(version + 1);
    await using store = createPostgresStore({ server: server.url, schema });
    await assert.rejects(put(store), { ...unavailable, message: /a later release made it/ });
  });

  it("is made by no server that is older than supported", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    // The server answers this user from a function in the schema of the user.
    await server.query(`create role ${schema} superuser login; create schema ${schema}_old;
      alter role ${schema} set search_path = ${schema}_old, pg_catalog;
      create function ${schema}_old.current_setting(text) returns text language sql as
        $$ select case $1 when 'server_version_num' then '130014' else '13.14' end $$`);
    await using store = createPostgresStore({ server: server.urlOf(schema), schema });
    const reason = /version 14 or later is needed, the server has 13\.14/;
    await assert.rejects(put(store), { ...unavailable, message: reason });
    const [row] = await server.query(`select to_regnamespace('${schema}') as found`);
    assert.equal(row?.found, null);
  });

  it("is left as it was by a user who may not make it, who may use it then", async () => {
    const [server, schema] = [await sharedPostgres(), freshSchema()];
    await server.query(`create role ${schema} login`);
    await using store = createPostgresStore({ server: server.urlOf(schema), schema });
    await assert.rejects(put(store), { ...unavailable, message: /run grandstand migrate/ });
    const [row] = await server.query(`select to_regnamespace('${schema}') as found`);
    assert.equal(row?.found, null);
    await using owner = createPostgresStore({ server: server.url, schema });
    await owner.ping();
    await server.query(
      `grant usage on schema ${schema} to ${schema}; grant select, insert, update, delete on all tables in schema ${schema} to ${schema}`,
    );
    await put(store);
  });

  it("is not taken for a name that needs quotes, nor a URL for one of another database", () => {
    const server = "postgres://127.0.0.1/x";
    for (const schema of ["", "A", 'a"b', "a b", "pg_x", "a;b"]) {
      assert.throws(() => createPostgresStore({ server, schema }), TypeError);
    }
    assert.throws(
      () => createPostgresStore({ server: "redis://127.0.0.1" }),
      /the server must be a URL such as postgres:/,
    );
  });
});
