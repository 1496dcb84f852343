/** The product's own command, started on every runtime and on every store, under the one set of HTTP tests. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Demo } from "../../lib/mod.ts";
import { EventReader } from "../support/event_stream.ts";
import { skipUnlessFull } from "../support/full.ts";
import { postgresAvailable, sharedPostgres } from "../support/postgres.ts";
import { redisAvailable, sharedRedis } from "../support/redis.ts";
import { account, TestSmtpServer } from "../support/smtp.ts";
import { until } from "../support/until.ts";
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

const [first = assert.fail(), ...others] = runtimes;

describe("grandstand serve in memory", () => {
  addServerTests(first, async () => ({}));
});

// Each runtime opens files and the driver of PostgreSQL in its own way, but Node 24 as the first does.
for (const runtime of [first, ...others.filter(({ name }) => !name.startsWith("Node"))]) {
  describe(`grandstand serve on ${runtime.name}, in files`, { skip: runtime.skip }, () => {
    it("finds its demo again after a restart, without a secret of its own", async () => {
      const settings = { GRANDSTAND_DATA: join(folder, `data-${files++}`) };
      const before = await serve(runtime, settings);
      const entries = await Promise.all(["Ann", "Bo", "Cem"].map(name => scoreAt(before.demo, name)));
      await stop(before.program);
      const { program, demo } = await serve(runtime, settings);
      assert.equal(demo.projectId, before.demo.projectId);
      assert.equal(demo.apiKey, null, "an earlier start created it");
      const kept = entries.map(async entry => (await fetch(demo.baseUrl + entry)).status);
      assert.deepEqual(await Promise.all(kept), [200, 200, 200]);
      await stop(program);
    });
  });

  describe(`grandstand serve on ${runtime.name}, on PostgreSQL`, {
    skip: runtime.skip || skipUnlessFull("on PostgreSQL") || postgresAvailable(),
  }, () => {
    async function onPostgres(): Promise<Record<string, string>> {
      const server = await sharedPostgres();
      return { GRANDSTAND_POSTGRES: server.urlOf("postgres", await server.freshDatabase()) };
    }
    if (runtime === first) addServerTests(runtime, onPostgres);
    else {
      it("takes a fan to a board", async () => {
        const { program, demo } = await serve(runtime, await onPostgres());
        await scoreAt(demo, "Ann");
        await stop(program);
      });
    }
  });
}

for (const runtime of runtimes) {
  describe(`grandstand serve on ${runtime.name}, on Redis`, {
    skip: runtime.skip || redisAvailable(),
  }, () => {
    let mails: TestSmtpServer;
    async function surroundings(): Promise<Record<string, string>> {
      const redis = await sharedRedis();
      await redis.flush();
      mails = await TestSmtpServer.start();
      const certificates = join(folder, `${files++}.pem`);
      writeFileSync(certificates, mails.ca);
      return {
        GRANDSTAND_REDIS: redis.url,
        GRANDSTAND_METRICS_PORT: "0",
        GRANDSTAND_SMTP: mails.url(),
        GRANDSTAND_MAIL_FROM: "Club <no-reply@example.org>",
        NODE_EXTRA_CA_CERTS: certificates,
        DENO_CERT: certificates,
      };
    }
    after(() => mails[Symbol.asyncDispose]());
    addServerTests(runtime, surroundings, target => {
      it("measures itself", () => assertMeasures(target()));
      it("sends mail through a server, encrypted and authenticated, and then there is no outbox", () =>
        assertMails(target(), mails));
    });
  });
}

/** Asserts that a server has metrics of its process and of its requests. */
async function assertMeasures({ program, demo }: Served): Promise<void> {
  const served = /"event":"metrics_served","url":"([^"]+)"/;
  await until("the metrics are served", () => served.test(program.stderr()));
  const scrape = async (): Promise<(series: string) => number> => {
    const page = await (await fetch(served.exec(program.stderr())?.[1] ?? "")).text();
    const lines = page.split("\n");
    return series => Number(lines.find(line => line.startsWith(`${series} `))?.slice(series.length));
  };
  const before = await scrape();
  for (const series of [
    ...["process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"],
    ...["v8js_memory_heap_used_bytes", "nodejs_eventloop_delay_max_seconds"],
  ]) {
    assert.ok(before(series) > 0, series);
  }
  await (await fetch(`${demo.baseUrl}/healthz`)).arrayBuffer();
  const later = await scrape();
  const answered = 'http_request_method="GET",http_route="/healthz",http_response_status_code="200"';
  const count = `http_server_request_duration_seconds_count{${answered}}`;
  assert.equal(later(count), before(count) + 1);
  // A reader takes no peak away from the next one.
  const longest = "nodejs_eventloop_delay_max_seconds";
  assert.ok(later(longest) >= before(longest));
}

/** Asserts that the code for a new password leaves through a mail server. */
async function assertMails({ program, demo }: Served, server: TestSmtpServer): Promise<void> {
  assert.ok(!program.stdout().includes("_outbox"));
  assert.equal((await fetch(`${demo.baseUrl}/_outbox`)).status, 404);
  const email = "fan@example.org";
  const call = async (method: string, path: string, data: object): Promise<number> => {
    const body = { projectId: demo.projectId, strategy: "email", provider: "managedPool", data };
    const headers = { "content-type": "application/json", authorization: `Bearer ${demo.clientToken}` };
    const init = { method, headers, body: JSON.stringify(body) };
    return (await fetch(`${demo.baseUrl}${path}`, init)).status;
  };
  assert.equal(await call("POST", "/v1/user", { email, password: "correct horse battery" }), 201);
  assert.equal(await call("PUT", "/v1/user/forgot-password", { email }), 200);
  await until("the mail has arrived", () => server.mails.length > 0);
  const [mail] = server.mails;
  assert.deepEqual(
    [mail?.from, mail?.to, mail?.isEncrypted, mail?.user],
    ["no-reply@example.org", [email], true, account.user],
  );
  assert.match(mail?.body ?? "", /Your code is \d{8}\./);
}

/** Adds the tests of every server, and more before the one that stops it. */
function addServerTests(
  runtime: Runtime,
  environment: () => Promise<Record<string, string>>,
  addMore: (target: () => Served) => void = () => {},
): void {
  let served: Served;
  before(async () => {
    served = await serve(runtime, await environment());
  });
  after(() => served.program.signal("SIGKILL"));

  addTests(() => served);
  addMore(() => served);

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
