/** What `GRANDSTAND_REDIS` may name, and what a server says where it cannot work with it. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { createServer } from "node:tls";
import { selfSigned } from "../support/certificate.ts";
import {
  type RedisProcess,
  redisAvailable,
  sharedCluster,
  sharedRedis,
  startRedis,
} from "../support/redis.ts";
import { until } from "../support/until.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
const folder = mkdtempSync(join(tmpdir(), "grandstand-redis-address-"));
after(() => rmSync(folder, { recursive: true }));
const [runtime] = runtimes.filter(({ skip }) => skip === false);
/** Valid for the name alone, as certificates of hosted servers are. */
const certificate = selfSigned([192, 0, 2, 1]);
const authority = join(folder, "authority.pem");
writeFileSync(authority, certificate.cert);

function serve(t: TestContext, redis: string, environment: Readonly<Record<string, string>> = {}): Program {
  assert.ok(runtime !== undefined);
  const settings = { GRANDSTAND_SECRET: secret, GRANDSTAND_PORT: "0", GRANDSTAND_REDIS: redis };
  const program = start([...cliCommand(runtime), "serve"], { ...settings, ...environment });
  t.after(() => program.signal("SIGKILL"));
  return program;
}

async function assertRefused(program: Program, reason: RegExp): Promise<void> {
  assert.equal(await program.ended, 1, program.stdout());
  assert.match(program.stderr(), /Cannot serve: Cannot (?:use|connect to) Redis: /);
  assert.match(program.stderr(), reason);
  assert.doesNotMatch(program.stderr(), /^ +at /m);
}

async function assertReady(program: Program): Promise<void> {
  const [, url = ""] = await program.match(/listens on (\S+)/);
  const answer = await fetch(`${url}/readyz`);
  assert.equal(answer.status, 200, await answer.text());
}

/** Serves a Redis server over TLS as `localhost`, and returns the port. */
async function behindTls(t: TestContext, redis: RedisProcess): Promise<number> {
  const server = createServer(certificate, client => {
    const upstream = connect(redis.port, "127.0.0.1");
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) {
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        upstream.destroy();
      });
    }
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

describe("a server on Redis", { skip: redisAvailable(), concurrency: true }, () => {
  it("does not start in database 0 in place of one that does not exist", async t => {
    const { url } = await sharedRedis();
    await assertRefused(
      serve(t, `${url}/16`),
      /database 16 cannot be selected: ERR DB index is out of range/,
    );
  });

  it("does not start in database 0 in place of one that its user may not select", async t => {
    const redis = await startRedis();
    t.after(() => redis.kill());
    await redis.command("ACL", "SETUSER", "sam", "on", ">pass", "~*", "&*", "+@all", "-select");
    await assertRefused(
      serve(t, `redis://sam:pass@127.0.0.1:${redis.port}/1`),
      /database 1 cannot be selected: NOPERM/,
    );
  });

  it("uses the database that it is given", async t => {
    const redis = await startRedis();
    t.after(() => redis.kill());
    await assertReady(serve(t, `${redis.url}/1`));
    assert.match(`${await redis.command("INFO", "keyspace")}`, /^db1:/m);
    assert.equal(await redis.command("DBSIZE"), 0);
  });

  it("does not start where the database is no number", async t => {
    await assertRefused(serve(t, "redis://127.0.0.1:6379/abc"), /the database in the URL must be a number/);
  });

  it("finds a Cluster from the address of one node", async t => {
    const { nodes } = await sharedCluster();
    await assertReady(serve(t, nodes[0]?.url ?? ""));
  });
});

describe("a server on Redis with TLS", { skip: redisAvailable(), concurrency: true }, () => {
  it("says why the certificate is refused, and trusts an authority that Node is told of", async t => {
    const port = await behindTls(t, await sharedRedis());
    const url = `rediss://localhost:${port}`;
    await assertRefused(serve(t, url), /self-signed certificate/);
    await assertReady(serve(t, url, { NODE_EXTRA_CA_CERTS: authority }));
    await assertRefused(
      serve(t, `rediss://127.0.0.1:${port}`, { NODE_EXTRA_CA_CERTS: authority }),
      /does not match certificate's altnames/,
    );
  });

  it("says and does the same for a Cluster, whose nodes have names", async t => {
    const redis = await startRedis({ args: ["--cluster-enabled", "yes"] });
    t.after(() => redis.kill());
    const port = await behindTls(t, redis);
    for (const [setting, value] of Object.entries({
      "cluster-announce-hostname": "localhost",
      "cluster-preferred-endpoint-type": "hostname",
      "cluster-announce-port": port,
    })) {
      await redis.command("CONFIG", "SET", setting, value);
    }
    await redis.command("CLUSTER", "ADDSLOTSRANGE", 0, 16_383);
    await until("the Cluster serves all slots", async () =>
      `${await redis.command("CLUSTER", "INFO")}`.includes("cluster_state:ok"),
    );
    const urls = `rediss://localhost:${port},rediss://localhost:${port}`;
    await assertRefused(serve(t, urls), /self-signed certificate/);
    await assertReady(serve(t, urls, { NODE_EXTRA_CA_CERTS: authority }));
  });
});
