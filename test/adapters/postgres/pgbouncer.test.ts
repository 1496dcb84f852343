import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { Load } from "../../../adapters/conformance/load.ts";
import { createPostgresQueue, createPostgresStore } from "../../../adapters/postgres/mod.ts";
import { freePort } from "../../support/free_port.ts";
import { GuardedProcess, serverDirectory } from "../../support/guarded_process.ts";
import { asUser, postgresAvailable, sharedPostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

const found = spawnSync("sh", ["-c", "PATH=$PATH:/usr/sbin command -v pgbouncer"], { encoding: "utf8" });
const program = found.stdout.trim();

/** Starts a pooler in transaction mode before a server, with so few connections that clients share them. */
async function startPooler(
  port: number,
): Promise<{ readonly port: number; readonly process: GuardedProcess }> {
  const dir = serverDirectory("gs-pgbouncer-", asUser);
  const own = await freePort();
  writeFileSync(`${dir}/users`, '"postgres" ""\n');
  writeFileSync(
    `${dir}/settings`,
    `[databases]
* = host=127.0.0.1 port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = trust
auth_file = ${dir}/users
pool_mode = transaction
default_pool_size = 3
`,
  );
  const command = [program, `${dir}/settings`];
  return {
    port: own,
    process: await GuardedProcess.start(command, { ...asUser, dir, cwd: dir, signal: "KILL" }),
  };
}

const isRequired = process.env.GRANDSTAND_REQUIRE_POSTGRES === "1";
const skip = postgresAvailable() || (program === "" && !isRequired && "PgBouncer is not installed");

describe("PostgreSQL behind PgBouncer in transaction mode", { skip }, () => {
  it("loses and doubles nothing, over fewer connections than the adapter opens", async () => {
    const server = await sharedPostgres();
    const database = await server.freshDatabase();
    await server.query(`alter database ${database} set default_transaction_isolation = 'read committed'`);
    await server.query(`alter database ${database} set statement_timeout = '4s'`);
    const pooler = await startPooler(server.port);
    const options = { server: `postgres://postgres@127.0.0.1:${pooler.port}/${database}` };
    await using store = createPostgresStore(options);
    await until("the pooler answers", () =>
      store.ping().then(
        () => true,
        () => false,
      ),
    );
    await using load = new Load(store);
    await using queue = createPostgresQueue(options);
    await load.more("ok", 500);
    const [id = ""] = await queue.push("t", ["body"]);
    const [message] = await queue.take("t", { consumer: "c", limit: 1, leaseMs: 1_000 });
    assert.equal(message?.id, id);
    await load.stop();
    await load.verify();
    assert.equal(load.count("ok"), load.outcomes.length);
    const [row] = await server.query(
      `select count(*)::int as open from pg_stat_activity where datname = '${database}'`,
    );
    assert.ok(Number(row?.open) <= 3);
    await pooler.process.end("KILL");
  });
});
