/** A streaming replica is promoted and the address leads to it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Load } from "../../../adapters/conformance/load.ts";
import {
  createPostgresBlobs,
  createPostgresLimiter,
  createPostgresQueue,
  createPostgresStore,
} from "../../../adapters/postgres/mod.ts";
import { answerMsMax } from "../../../adapters/postgres/options.ts";
import { PostgresProcess, postgresAvailable } from "../../support/postgres.ts";
import { assertInTime, until } from "../../support/until.ts";
import { MovingAddress, recovers } from "../moving_address.ts";

/** Starts a primary, and a replica whose disk every commit waits for. */
async function startPair(): Promise<readonly [PostgresProcess, PostgresProcess]> {
  const primary = await PostgresProcess.start(["fsync=off"]);
  const replica = await primary.replica();
  await primary.query("alter system set synchronous_standby_names = '*'");
  await primary.query("select pg_reload_conf()");
  await until("commits wait for the replica", async () => {
    const [row] = await primary.query("select sync_state from pg_stat_replication");
    return row?.sync_state === "sync";
  });
  return [primary, replica];
}

describe("PostgreSQL whose address moves to a promoted replica", {
  concurrency: true,
  skip: postgresAvailable(),
}, () => {
  it("loses and doubles nothing that was acknowledged when the primary dies, and takes no writes until then", async () => {
    const [primary, replica] = await startPair();
    await using _primary = primary;
    await using _replica = replica;
    await using address = await MovingAddress.to(primary.port);
    await using store = createPostgresStore({
      server: `postgres://postgres@127.0.0.1:${address.port}/postgres`,
    });
    await using load = new Load(store);
    await load.more("ok", 500);
    await primary.kill();
    address.moveTo(replica.port);
    await until("a connection leads to the replica", () =>
      store.read("p0", [{ type: "record", key: "k0" }]).then(
        ([record]) => record !== null,
        () => false,
      ),
    );
    const write = (): Promise<unknown> =>
      store.commit("p", { writes: [{ type: "put", key: "k", value: "1" }] });
    const refused = { code: "storage_unavailable", message: /read-only/ };
    await assert.rejects(write(), refused);
    await assert.rejects(store.ping(), { code: "storage_unavailable", message: /takes no writes/ });
    await replica.query("select pg_promote()");
    await load.more("ok", 300);
    await load.stop();
    await load.verify();
    assert.ok(load.count("outcome_unknown") > 0, "the kill met no commit under way");
  });

  it("works on with the new primary, although the former one still answers", async () => {
    const [primary, replica] = await startPair();
    await using _primary = primary;
    await using _replica = replica;
    await using address = await MovingAddress.to(primary.port);
    const options = { server: `postgres://postgres@127.0.0.1:${address.port}/postgres` };
    await using store = createPostgresStore(options);
    await using queue = createPostgresQueue(options);
    await using limiter = createPostgresLimiter(options);
    await using blobs = createPostgresBlobs(options);
    const rule = { name: "r", limit: 1_000, windowMs: 60_000 };
    const writes: readonly (() => Promise<unknown>)[] = [
      () => store.commit("p", { writes: [{ type: "put", key: "k", value: "1" }] }),
      () => queue.push("t", ["body"]),
      () => queue.take("t", { consumer: "c", limit: 10, leaseMs: 1_000 }),
      async () => await limiter.take("s", [rule]),
      () => blobs.put("b", new Blob(["bytes"]).stream()),
    ];
    for (const write of writes) await write();
    await primary.query("alter system set default_transaction_read_only = on");
    await primary.query("select pg_reload_conf()");
    const refused = { code: "storage_unavailable", message: /read-only/ };
    await until("the primary takes no writes", () =>
      (writes[0] as () => Promise<unknown>)().then(
        () => false,
        () => true,
      ),
    );
    for (const write of writes) await assert.rejects(write(), refused);
    address.moveTo(replica.port);
    // Those whose connections lead to the former primary are refused once more, and those of a replica as well.
    for (const write of writes) await assert.rejects(write(), refused);
    for (const write of writes) await assert.rejects(write(), refused);
    await replica.query("select pg_promote()");
    for (const write of writes) await recovers(write);
  });

  it("cannot tell what became of a commit that no replica confirmed: it is there once one does, and lost with the primary", async () => {
    const [primary, replica] = await startPair();
    await using _primary = primary;
    await using _replica = replica;
    await using address = await MovingAddress.to(primary.port);
    await using store = createPostgresStore({
      server: `postgres://postgres@127.0.0.1:${address.port}/postgres`,
    });
    const put = (partition: string): Promise<unknown> =>
      store.commit(partition, { writes: [{ type: "put", key: "k", value: "1" }] });
    const isThere = async (partition: string): Promise<boolean> =>
      (await store.read(partition, [{ type: "record", key: "k" }]))[0] !== null;
    const unknown = {
      name: "AppError",
      code: "outcome_unknown",
      message: /Cannot tell if PostgreSQL applied/,
    };
    await put("confirmed");

    await replica.freeze();
    const start = performance.now();
    await assert.rejects(put("taken"), unknown);
    assertInTime(start, answerMsMax);
    assert.equal(await isThere("taken"), false, "nobody reads what may be lost");
    assert.equal(await isThere("confirmed"), true);
    await replica.thaw();
    await until("the commit is there", () => isThere("taken"));
    await recovers(() => put("confirmed"));

    await replica.kill();
    await assert.rejects(put("lost"), unknown);
    await primary.kill();
    await replica.launch();
    await replica.query("select pg_promote()");
    address.moveTo(replica.port);
    await recovers(() => put("confirmed"));
    assert.deepEqual([await isThere("taken"), await isThere("lost")], [true, false]);
  });
});
