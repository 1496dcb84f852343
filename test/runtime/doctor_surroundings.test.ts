/** What the doctor says of the surroundings of a deployment: working, missing, refusing, hanging and answering nonsense. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { createPlatform, MasterSecret, silentLogger } from "../../lib/mod.ts";
import { readConfig } from "../../runtime/config.ts";
import { examine, type Finding, runCheck } from "../../runtime/doctor/mod.ts";
import { toNodeListener } from "../../runtime/node.ts";
import { closeStorage } from "../../runtime/services/storage.ts";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { TestSmtpServer } from "../support/smtp.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-surroundings-"));
after(() => rmSync(folder, { recursive: true }));
const secret = "a master secret for tests and long enough to be accepted";

/** Examines a deployment of these settings, whose checks end when `end` resolves if they hang. */
async function examined(
  environment: Readonly<Record<string, string>>,
  end: Promise<unknown> = new Promise(() => {}),
): Promise<ReadonlyMap<string, Finding>> {
  const result = readConfig({
    environment: { GRANDSTAND_SECRET: secret, ...environment },
    flags: {},
    demo: false,
  });
  assert.ok(result.ok, JSON.stringify(result));
  const { findings, storage } = await examine(result.config, callback => {
    void end.then(callback);
    return () => {};
  });
  if (storage !== null) await closeStorage(storage);
  for (const finding of findings) {
    assert.doesNotMatch(JSON.stringify(finding), /hidden/, "a secret is shown");
    const isWrong = finding.status === "warning" || finding.status === "failed";
    assert.equal(finding.advice !== null, isWrong, JSON.stringify(finding));
  }
  return new Map(findings.map(finding => [finding.check, finding]));
}

async function listening(t: TestContext, server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    if ("closeAllConnections" in server)
      (server as unknown as { closeAllConnections(): void }).closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const http = (t: TestContext, answer: RequestListener): Promise<number> =>
  listening(t, createHttpServer(answer));

/** A server that takes connections and says nothing, or one thing; `met` resolves with the first connection. */
async function mute(t: TestContext, word?: string): Promise<{ port: number; met: Promise<unknown> }> {
  const server = createServer(socket => {
    t.after(() => socket.destroy());
    socket.on("error", () => {});
    if (word !== undefined) socket.end(word);
  });
  return { port: await listening(t, server), met: once(server, "connection") };
}

async function closedPort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const html: RequestListener = (_, response) => {
  response.writeHead(200, { "content-type": "text/html" }).end("<h1>It works!</h1>");
};

describe("the doctor on Redis", { skip: redisAvailable() }, () => {
  it("finds a sound server sound, and says what is not set", async t => {
    const redis = await startRedis({ durable: true });
    t.after(() => redis.kill());
    const store = createRedisStore({ server: redis.url });
    const platform = await createPlatform({ store, secret: new MasterSecret(secret), logger: silentLogger });
    const worker = await examined({ GRANDSTAND_REDIS: redis.url });
    await platform.close();
    await store[Symbol.asyncDispose]();
    assert.deepEqual(
      [...worker.values()].map(({ check, status }) => [check, status]),
      [
        ["store", "ok"],
        ["redis-version", "ok"],
        ["redis-persistence", "ok"],
        ["redis-eviction", "ok"],
        ["redis-memory", "skipped"],
        ["redis-cluster", "skipped"],
        ["clock", "ok"],
        ["keys", "ok"],
        ["worker", "warning"],
        ["queue", "ok"],
        ["dead-letters", "ok"],
        ["due-work", "ok"],
        ["files", "ok"],
        ["mail", "skipped"],
        ["countries", "skipped"],
        ["public-url", "skipped"],
      ],
    );
    const wrong = await examined({
      GRANDSTAND_REDIS: redis.url,
      GRANDSTAND_SECRET: "another master secret and long enough to be accepted too",
    });
    assert.equal(wrong.get("keys")?.status, "failed");
  });

  it("warns of one that forgets, evicts or is about full", async t => {
    const redis = await startRedis({ args: ["--maxmemory-policy", "allkeys-lru", "--maxmemory", "1mb"] });
    t.after(() => redis.kill());
    const found = await examined({ GRANDSTAND_REDIS: redis.url });
    assert.equal(found.get("redis-persistence")?.status, "warning");
    assert.match(found.get("redis-eviction")?.seen ?? "", /allkeys-lru/);
    assert.equal(found.get("redis-memory")?.status, "warning");
  });

  it("fails a replica, which takes no writes", async t => {
    const redis = await startRedis();
    t.after(() => redis.kill());
    await redis.command("REPLICAOF", "127.0.0.1", await closedPort());
    const found = await examined({ GRANDSTAND_REDIS: redis.url });
    assert.equal(found.get("store")?.status, "failed");
    assert.match(found.get("store")?.seen ?? "", /replica/);
  });

  it("names a wrong password without showing it", async t => {
    const redis = await startRedis();
    t.after(() => redis.kill());
    await redis.command("CONFIG", "SET", "requirepass", "right");
    const found = await examined({ GRANDSTAND_REDIS: `redis://:hidden@127.0.0.1:${redis.port}` });
    assert.equal(found.get("store")?.status, "failed");
    assert.match(found.get("store")?.advice ?? "", /password of Redis into GRANDSTAND_REDIS/);
  });

  it("says which right the user of a working server lacks", async t => {
    const redis = await startRedis();
    t.after(() => redis.kill());
    for (const [user, right] of [
      ["blind", "-info"],
      ["timeless", "-time"],
    ] as const) {
      await redis.command("ACL", "SETUSER", user, "on", ">hidden", "~*", "&*", "+@all", right);
    }
    const of = (user: string) =>
      examined({ GRANDSTAND_REDIS: `redis://${user}:hidden@127.0.0.1:${redis.port}` });
    const blind = await of("blind");
    assert.equal(blind.get("store")?.status, "ok");
    assert.match(blind.get("redis-version")?.advice ?? "", /\+info/);
    assert.equal(blind.get("redis-persistence")?.status, "skipped");
    const timeless = await of("timeless");
    assert.match(timeless.get("store")?.seen ?? "", /'time'/);
    assert.match(timeless.get("store")?.advice ?? "", /^Redis works, .* ACL SETUSER/);
  });
});

describe("the doctor where Redis should be", () => {
  it("fails the store and goes on with the rest: nothing there, silence, another protocol, one that loads", async t => {
    const silent = await mute(t);
    const web = await mute(t, "HTTP/1.1 400 Bad Request\r\n\r\n");
    const loading = await mute(t, "-LOADING Redis is loading the dataset in memory\r\n");
    const cases: [string, Promise<unknown> | undefined][] = [
      [`redis://:hidden@127.0.0.1:${await closedPort()}`, undefined],
      [`redis://:hidden@127.0.0.1:${silent.port}`, silent.met],
      [`redis://:hidden@127.0.0.1:${web.port}`, undefined],
      [`redis://:hidden@127.0.0.1:${loading.port}`, undefined],
    ];
    for (const [GRANDSTAND_REDIS, end] of cases) {
      const found = await examined({ GRANDSTAND_REDIS }, end);
      assert.deepEqual([...found.keys()], ["store", "mail", "countries", "public-url"], GRANDSTAND_REDIS);
      assert.equal(found.get("store")?.status, "failed");
    }
  });
});

describe("the doctor on a data folder", () => {
  const data = (name: string): Record<string, string> => ({ GRANDSTAND_DATA: join(folder, name) });

  it("fails a folder that is none", async () => {
    writeFileSync(join(folder, "file"), "");
    const found = await examined(data("file"));
    assert.equal(found.get("store")?.status, "failed");
  });

  it("tries the storage of files by writing and reading back", async t => {
    writeFileSync(join(folder, "blobs"), "");
    const unwritable = await examined({ ...data("a"), GRANDSTAND_BLOBS: join(folder, "blobs") });
    assert.equal(unwritable.get("files")?.status, "failed");
    const bucket = `http://id:hidden@127.0.0.1:${await http(t, html)}/bucket`;
    const nonsense = await examined({ ...data("b"), GRANDSTAND_BLOBS: bucket });
    assert.equal(nonsense.get("files")?.status, "failed");
    assert.equal((await examined(data("c"))).get("files")?.status, "ok");
  });

  it("counts at a limiter that the settings name", async () => {
    assert.equal((await examined(data("e"))).has("limiter"), false);
    const inMemory = await examined({ ...data("f"), GRANDSTAND_LIMITER: "memory" });
    assert.equal(inMemory.get("limiter")?.status, "ok");
    const nowhere = `redis://:hidden@127.0.0.1:${await closedPort()}`;
    const found = await examined({ ...data("g"), GRANDSTAND_LIMITER: nowhere });
    assert.equal(found.get("limiter")?.status, "failed");
    assert.equal(found.get("store")?.status, "ok");
  });

  it("connects to the mail server and logs in, without sending anything", async t => {
    await using smtp = await TestSmtpServer.start();
    const from = { GRANDSTAND_MAIL_FROM: "club@example.org" };
    const sound = await examined({
      ...data("d"),
      ...from,
      GRANDSTAND_SMTP: `smtp://127.0.0.1:${new URL(smtp.url()).port}?tls=off`,
    });
    assert.equal(sound.get("mail")?.status, "ok", JSON.stringify(sound.get("mail")));
    const silent = await mute(t);
    const web = await mute(t, "HTTP/1.1 400 Bad Request\r\n\r\n");
    const cases: [number, Promise<unknown> | undefined][] = [
      [await closedPort(), undefined],
      [silent.port, silent.met],
      [web.port, undefined],
    ];
    for (const [port, end] of cases) {
      const found = await examined(
        { ...data("e"), ...from, GRANDSTAND_SMTP: `smtp://127.0.0.1:${port}?tls=off` },
        end,
      );
      assert.equal(found.get("mail")?.status, "failed");
    }
  });

  it("opens the country database", async () => {
    writeFileSync(join(folder, "cut.mmdb"), "no database");
    for (const name of ["none.mmdb", "cut.mmdb"]) {
      const found = await examined({ ...data("f"), GRANDSTAND_GEOIP: join(folder, name) });
      assert.equal(found.get("countries")?.status, "failed", name);
    }
  });

  it("asks the public address for its health, and follows no redirect", async t => {
    const platform = await createPlatform({
      store: createMemoryStore(),
      secret: new MasterSecret(secret),
      logger: silentLogger,
    });
    t.after(() => platform.close());
    const redirect: RequestListener = (_, response) => {
      response.writeHead(302, { location: "https://example.org/" }).end();
    };
    const at = async (port: number, end?: Promise<unknown>): Promise<Finding | undefined> => {
      const found = await examined({ ...data("g"), GRANDSTAND_PUBLIC_URL: `http://127.0.0.1:${port}` }, end);
      return found.get("public-url");
    };
    assert.equal((await at(await http(t, toNodeListener(platform.fetch))))?.status, "ok");
    assert.match((await at(await http(t, redirect)))?.seen ?? "", /redirects with 302/);
    assert.match((await at(await http(t, html)))?.seen ?? "", /is not Grandstand/);
    assert.equal((await at(await closedPort()))?.status, "failed");
    const silent = await mute(t);
    assert.match((await at(silent.port, silent.met))?.seen ?? "", /no answer/);
  });
});

describe("a check whose package is not installed", () => {
  it("says how to install it", async () => {
    const run = () => import("a-package-that-nobody-installed" as string);
    const [finding] = await runCheck({ name: "mail", advice: "See the mail server", run: run as never });
    assert.equal(finding?.advice, "Install it beside grandstand: npm i a-package-that-nobody-installed");
  });
});
