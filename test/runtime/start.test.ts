/** Starts and stops of `grandstand serve`. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { openFileStore } from "../../adapters/file/mod.ts";
import { createDirectory } from "../../lib/fans/directory/directory.ts";
import type { Seed } from "../../lib/mod.ts";
import { platformPartition } from "../../lib/storage/names.ts";
import { databases } from "../support/databases.ts";
import { freePort } from "../support/free_port.ts";
import { ids, seed } from "../support/platform.ts";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
const folder = mkdtempSync(join(tmpdir(), "grandstand-start-"));
after(() => rmSync(folder, { recursive: true }));
const [runtime] = runtimes.filter(({ skip }) => skip === false);

async function serve(t: TestContext, environment: Readonly<Record<string, string>>): Promise<Program> {
  assert.ok(runtime !== undefined);
  const settings = { GRANDSTAND_SECRET: secret, GRANDSTAND_PORT: "0", ...environment };
  const program = start([...cliCommand(runtime), "serve"], settings);
  t.after(() => program.signal("SIGKILL"));
  return program;
}

async function urlOf(program: Program): Promise<string> {
  const [, url = ""] = await program.match(/listens on (\S+)/);
  return url;
}

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function seedNamed(name: string, more: Partial<Seed> = {}): string {
  const organisations = seed.organisations.map(one => ({ ...one, name }));
  return file(`${name}.json`, JSON.stringify({ ...seed, organisations, ...more }));
}

describe("a start that is refused", () => {
  it("changes nothing in the store, whatever refuses it", async t => {
    const data = join(folder, "data");
    const common = { GRANDSTAND_DATA: data, GRANDSTAND_FSYNC: "never" };
    const running = await serve(t, { ...common, GRANDSTAND_SEED: seedNamed("first") });
    await urlOf(running);
    running.signal("SIGTERM");
    assert.equal(await running.ended, 0);

    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise(resolve => taken.once("listening", resolve));
    t.after(() => taken.close());
    const { port } = taken.address() as { port: number };
    const second = { ...common, GRANDSTAND_SEED: seedNamed("second") };
    const refusals: Record<string, Record<string, string>> = {
      port: { GRANDSTAND_PORT: String(port) },
      "country database": { GRANDSTAND_GEOIP: file("none.mmdb", "no database") },
      "master secret": { GRANDSTAND_SECRET: `${secret}${secret}` },
      "folder of files": { GRANDSTAND_BLOBS: file("no_folder", "") },
      "loyalty file": {
        GRANDSTAND_LOYALTY: file("loyalty.yaml", "metrics: 5"),
        GRANDSTAND_DEFAULT_SPACE: ids.space,
      },
      "space of the loyalty file": {
        GRANDSTAND_LOYALTY: file("right.json", "{}"),
        GRANDSTAND_DEFAULT_SPACE: ids.event,
      },
      "event of the seed": { GRANDSTAND_SEED: seedNamed("third", { events: [{ id: "x" } as never] }) },
    };
    for (const [what, environment] of Object.entries(refusals)) {
      const program = await serve(t, { ...second, ...environment });
      assert.equal(await program.ended, 1, `${what}: ${program.stdout()}`);
      assert.match(program.stderr(), /Cannot serve: /, what);
      assert.equal(await organisationIn(data), "first", what);
    }
    const nowhere = await serve(t, { GRANDSTAND_DATA: file("no_data", "") });
    assert.equal(await nowhere.ended, 1);
    assert.match(nowhere.stderr(), /Cannot use the folder of GRANDSTAND_DATA: /);
    const program = await serve(t, second);
    await urlOf(program);
    program.signal("SIGTERM");
    await program.ended;
    assert.equal(await organisationIn(data), "second");

    const store = await openFileStore(data, { fsync: "never" });
    const newer = { type: "put", key: "format", value: "2" } as const;
    assert.ok((await store.commit(platformPartition("key_ring"), { writes: [newer] })).ok);
    await store[Symbol.asyncDispose]();
    const older = await serve(t, second);
    assert.equal(await older.ended, 7);
    assert.match(older.stderr(), /Cannot serve: Cannot use the store: its format is 2/);
  });
});

async function organisationIn(data: string): Promise<string | undefined> {
  const store = await openFileStore(data, { fsync: "never" });
  try {
    return (await createDirectory({ store, clock: Date.now }).organisation(ids.organisation))?.name;
  } finally {
    await store[Symbol.asyncDispose]();
  }
}

describe("a server that starts", { skip: redisAvailable() }, () => {
  it("says so until it can serve", async t => {
    const redis = await startRedis();
    t.after(() => redis.kill());
    // Longer than the server waits for an answer: it listens, and then gives up.
    await redis.command("CLIENT", "PAUSE", "30000", "ALL");
    const port = String(await freePort());
    const program = await serve(t, { GRANDSTAND_REDIS: redis.url, GRANDSTAND_PORT: port });
    let answer: { status: number; message: string } | undefined;
    let stream: string | undefined;
    await until("the port answers", async () => {
      const headers = { accept: "text/event-stream", "cache-control": "no-cache" };
      const opened = await fetch(`http://127.0.0.1:${port}/`, { headers }).catch(() => null);
      if (opened === null) return false;
      stream = `${opened.status} ${await opened.text()}`;
      const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
      if (response === null) return false;
      const { message } = (await response.json()) as { message: string };
      answer = { status: response.status, message };
      return true;
    });
    assert.deepEqual(answer, {
      status: 503,
      message: "Cannot take the request: the server is starting; retry later",
    });
    assert.equal(stream, "200 retry: 1000\n\n", "an EventSource comes back");
    program.signal("SIGKILL");
  });
});

for (const { name, setting, skip, empty } of databases) {
  it(`two servers on one ${name} accept each other's tokens without further settings`, { skip }, async t => {
    const settings = { [setting]: await empty(), GRANDSTAND_DEFAULT_SPACE: ids.space };
    const first = await urlOf(await serve(t, { ...settings, GRANDSTAND_SEED: seedNamed("club") }));
    const second = await urlOf(await serve(t, settings));
    const post = async (path: string, body: unknown): Promise<{ readonly data: Record<string, unknown> }> => {
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      return (await (await fetch(`${first}${path}`, init)).json()) as never;
    };
    const { data: record } = await post("/v1/user", {
      projectId: ids.project,
      strategy: "simplified",
      provider: "noLogin",
      data: { username: "Sam" },
    });
    const { data } = await post("/api/auth/token", { type: "sessionRecord", projectId: ids.project, record });
    const headers = { authorization: `Bearer ${data.accessToken}` };
    const statuses = [first, second].map(
      async url => (await fetch(`${url}/api/loyalty/profile`, { headers })).status,
    );
    assert.deepEqual(await Promise.all(statuses), [200, 200]);
  });
}

describe("a server whose home is no folder", () => {
  it("starts, as it needs no profile", async t => {
    const home = { HOME: "/dev/null", XDG_CONFIG_HOME: "", GRANDSTAND_CONFIG: "" };
    const program = await serve(t, { ...home, GRANDSTAND_PROFILE: "none" });
    assert.equal((await fetch(`${await urlOf(program)}/readyz`)).status, 200);
  });
});

describe("a server that stops", () => {
  it("is not ready and answers for the time of GRANDSTAND_DRAIN", async t => {
    const program = await serve(t, { GRANDSTAND_DRAIN: "2" });
    const url = await urlOf(program);
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    program.signal("SIGTERM");
    await until("it is not ready", async () => (await fetch(`${url}/readyz`)).status === 503);
    const answer = await fetch(`${url}/healthz`);
    assert.deepEqual([answer.status, answer.headers.get("connection")], [200, "close"]);
    assert.equal(await program.ended, 0);
    await assert.rejects(fetch(`${url}/healthz`));
  });
});
