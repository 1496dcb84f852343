import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, it } from "node:test";
import { bundledProgram } from "./program.ts";
import { RedisProcess, redisAvailable, sharedCluster, sharedRedis, startRedis } from "./redis.ts";
import { until } from "./until.ts";

describe("the skip reason of tests on Redis", () => {
  it("is given where Redis is missing, except where Redis is required", t => {
    const { PATH, GRANDSTAND_REQUIRE_REDIS: required } = process.env;
    t.after(() => {
      process.env.PATH = PATH;
      if (required === undefined) delete process.env.GRANDSTAND_REQUIRE_REDIS;
      else process.env.GRANDSTAND_REQUIRE_REDIS = required;
    });
    process.env.PATH = "/nowhere";
    delete process.env.GRANDSTAND_REQUIRE_REDIS;
    assert.equal(redisAvailable(), "redis-server is not installed");
    process.env.GRANDSTAND_REQUIRE_REDIS = "1";
    assert.equal(redisAvailable(), false);
  });
});

describe("the Redis servers of the tests", { skip: redisAvailable() }, () => {
  it("shares one standalone server, on loopback only", async () => {
    const server = await sharedRedis();
    assert.equal(server, await sharedRedis());
    assert.equal(await server.command("PING"), "PONG");
    assert.deepEqual(await server.command("CONFIG", "GET", "bind"), ["bind", "127.0.0.1"]);
  });

  it("keeps acknowledged writes of a durable server over a kill", async () => {
    const server = await startRedis({ durable: true });
    await server.command("SET", "kept", "1");
    await server.restart();
    assert.equal(await server.command("GET", "kept"), "1");
    await server.kill();
    await assert.rejects(server.command("PING"));
  });

  it("forms a Cluster of three masters that serves every slot", async () => {
    const cluster = await sharedCluster();
    assert.equal(cluster.nodes.length, 3);
    for (const node of cluster.nodes) {
      assert.match(`${await node.command("CLUSTER", "INFO")}`, /cluster_state:ok/);
    }
    await cluster.stop();
  });

  it("leaves no server behind when its test process is killed", async () => {
    const holder = bundledProgram(new URL("./redis_holder.ts", import.meta.url));
    const child = spawn(process.execPath, [holder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const pid = await new Promise<number>(resolve =>
      child.stdout.once("data", chunk => resolve(Number(`${chunk}`))),
    );
    assert.ok(pid > 1);
    child.kill("SIGKILL");
    await until("the server is gone", () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
  });

  it("reports a server that cannot start", async () => {
    await assert.rejects(RedisProcess.start(["--no-such-option", "1"]), /Cannot start redis-server/);
  });
});
