/** The product's own command, started on every runtime and store, under the one set of HTTP tests. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Demo } from "../../lib/mod.ts";
import { EventReader } from "../support/event_stream.ts";
import { skipUnlessFull } from "../support/full.ts";
import { postgresAvailable, sharedPostgres } from "../support/postgres.ts";
import { redisAvailable, sharedRedis } from "../support/redis.ts";
import { addTests, scoreAt } from "./http_set.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, type Runtime, runtimes } from "./runtimes.ts";

interface Served {
  readonly program: Program;
  readonly demo: Demo;
}

const folder = mkdtempSync(join(tmpdir(), "grandstand-http-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

async function serve(runtime: Runtime, environment: Record<string, string>): Promise<Served> {
  const file = join(folder, `demo-${files++}.json`);
  const settings = { GRANDSTAND_PORT: "0", GRANDSTAND_DEMO_FILE: file, ...environment };
  const program = start([...cliCommand(runtime), "serve", "--demo"], settings);
  await program.match(/# 1\. /);
  return { program, demo: JSON.parse(readFileSync(file, "utf8")) as Demo };
}

for (const runtime of runtimes) {
  describe(`grandstand serve on ${runtime.name}, in memory`, { skip: runtime.skip }, () => {
    addServerTests(runtime, async () => ({}));
  });

  describe(`grandstand serve on ${runtime.name}, in files`, { skip: runtime.skip }, () => {
    const data = join(folder, `data-${files++}`);
    addRestartTest(runtime, async () => ({ GRANDSTAND_DATA: data }));
  });

  describe(`grandstand serve on ${runtime.name}, on Redis`, {
    skip: runtime.skip || redisAvailable(),
  }, () => {
    async function onRedis(): Promise<Record<string, string>> {
      return { GRANDSTAND_REDIS: (await sharedRedis()).url };
    }
    before(async () => await (await sharedRedis()).flush());
    addServerTests(runtime, onRedis);
    if (runtime === runtimes[0]) {
      addRestartTest(runtime, async () => {
        await (await sharedRedis()).flush();
        return await onRedis();
      });
    }
  });
}

for (const runtime of runtimes) {
  describe(`grandstand serve on ${runtime.name}, on PostgreSQL`, {
    skip: runtime.skip || skipUnlessFull("on PostgreSQL") || postgresAvailable(),
  }, () => {
    async function onPostgres(): Promise<Record<string, string>> {
      const server = await sharedPostgres();
      return { GRANDSTAND_POSTGRES: server.urlOf("postgres", await server.freshDatabase()) };
    }
    // The driver on each runtime, and every test on one of them.
    if (runtime === runtimes[0]) addServerTests(runtime, onPostgres);
    else addRestartTest(runtime, onPostgres);
  });
}

function addRestartTest(runtime: Runtime, environment: () => Promise<Record<string, string>>): void {
  it("finds its demo again after a restart, without a secret of its own", async () => {
    const settings = await environment();
    const first = await serve(runtime, settings);
    const entries = await Promise.all(["Ann", "Bo", "Cem"].map(name => scoreAt(first.demo, name)));
    await stop(first.program);
    const second = await serve(runtime, settings);
    assert.equal(second.demo.projectId, first.demo.projectId);
    assert.equal(second.demo.apiKey, null, "an earlier start created it");
    const kept = entries.map(async entry => (await fetch(second.demo.baseUrl + entry)).status);
    assert.deepEqual(await Promise.all(kept), [200, 200, 200]);
    await stop(second.program);
  });
}

function addServerTests(runtime: Runtime, environment: () => Promise<Record<string, string>>): void {
  let served: Served;
  before(async () => {
    served = await serve(runtime, await environment());
  });
  after(() => served.program.signal("SIGKILL"));

  addTests(() => served);

  it("ends live boards when it stops", async () => {
    const { baseUrl, projectId } = served.demo;
    const headers = { accept: "text/event-stream" };
    const { body } = await fetch(`${baseUrl}/projects/${projectId}/leaderboards/overall`, { headers });
    assert.ok(body !== null);
    const reader = new EventReader(body);
    await reader.next();
    await stop(served.program);
    while ((await reader.next()) !== null);
  });

  it("logs every request as one line of JSON, without secrets", async () => {
    const lines = served.program.stderr().trimEnd().split("\n");
    const requests = lines.map(line => JSON.parse(line)).filter(line => line.event === "request");
    assert.ok(requests.length > 20);
    assert.ok(requests.every(line => typeof line.requestId === "string" && typeof line.status === "number"));
    assert.doesNotMatch(served.program.stderr(), /Bearer|gss_/);
  });
}

async function stop(program: Program): Promise<void> {
  program.signal("SIGTERM");
  assert.equal(await program.ended, 0, program.stderr());
}
