/** Queued actions on real processes: workers apart from the server, the command for dead letters, and files. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import type { Demo } from "../../lib/mod.ts";
import { databases } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
const folder = mkdtempSync(join(tmpdir(), "grandstand-actions-"));
after(() => rmSync(folder, { recursive: true }));
const built = runtimes.find(({ skip }) => skip === false);
const userId = "somebody";

async function command(args: readonly string[], environment: Record<string, string>): Promise<Program> {
  assert.ok(built !== undefined);
  return start([...cliCommand(built), ...args], { GRANDSTAND_SECRET: secret, ...environment });
}

interface Demonstration {
  readonly server: Program;
  readonly demo: Demo;
}

async function serveDemo(context: TestContext, environment: Record<string, string>): Promise<Demonstration> {
  const file = join(folder, `${context.name.length}.json`);
  const args = ["serve", "--demo", "--port", "0", "--demo-file", file];
  const server = await command(args, environment);
  context.after(() => server.signal("SIGKILL"));
  await server.match(/listens on/);
  return { server, demo: JSON.parse(readFileSync(file, "utf8")) };
}

function fields(demo: Demo): Record<string, string> {
  return {
    "content-type": "application/json",
    "x-api-key": demo.apiKey?.key ?? "",
    "x-api-secret": demo.apiKey?.secret ?? "",
    "x-platform-org-id": demo.organisationId,
  };
}

async function queueAction(demo: Demo, action: object): Promise<void> {
  const path = `${demo.baseUrl}/v1/api/audience/internal/actions`;
  const body = JSON.stringify({ userId, ...action });
  const response = await fetch(path, { method: "POST", headers: fields(demo), body });
  assert.equal(response.status, 202, await response.text());
}

interface DeadPage {
  readonly data: readonly { readonly action: string }[];
  readonly totalCount: number;
}

async function deadOnes(demo: Demo): Promise<DeadPage["data"]> {
  return (await deadPage(demo)).data;
}

async function deadPage(demo: Demo): Promise<DeadPage> {
  const path = `${demo.baseUrl}/v1/api/audience/internal/actions/dead-letters`;
  return (await (await fetch(path, { headers: fields(demo) })).json()) as DeadPage;
}

/** Reads the metrics of a program by their text form without labels. */
async function scrape(program: Program): Promise<(series: string) => number | null> {
  let url: string | undefined;
  await until("the metrics are served", () => {
    url = /"event":"metrics_served","url":"([^"]+)"/.exec(program.stderr())?.[1];
    return url !== undefined;
  });
  const answer = await fetch(url ?? "");
  assert.equal(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const lines = (await answer.text()).split("\n");
  return series => {
    const line = lines.find(each => each.startsWith(`${series} `));
    return line === undefined ? null : Number(line.slice(series.length + 1));
  };
}

/** Ends a program as operators do, and expects it to end well. */
async function end(program: Program): Promise<void> {
  program.signal("SIGTERM");
  assert.equal(await program.ended, 0, program.stderr());
}

describe("queued actions", { concurrency: true }, () => {
  for (const { name, setting, skip, empty } of databases) {
    it(`wait on ${name} while the server runs no worker, and are applied by one that starts`, {
      skip,
    }, async context => {
      const environment = { [setting]: await empty(), GRANDSTAND_METRICS_PORT: "0" };
      const { server, demo } = await serveDemo(context, { ...environment, GRANDSTAND_WORKERS: "off" });
      await queueAction(demo, { action: "nothing-knows-this" });
      assert.deepEqual(await deadOnes(demo), []);
      const waiting = await scrape(server);
      assert.equal(waiting("grandstand_queue_depth"), 1);
      assert.ok((waiting("grandstand_queue_oldest_age_seconds") ?? -1) >= 0);
      assert.equal(waiting("grandstand_worker_alive"), 0);
      assert.equal(waiting('grandstand_queue_messages_total{step="pushed"}'), 1);
      const posted = 'http_request_method="POST",http_route="/v1/api/audience/internal/actions"';
      const durations = "http_server_request_duration_seconds_count";
      assert.equal(waiting(`${durations}{${posted},http_response_status_code="202"}`), 1);
      const reads = 'grandstand_store_operation_duration_seconds_count{operation="read",outcome="ok"}';
      assert.ok((waiting(reads) ?? 0) > 0);
      for (const process of ["process_cpu_seconds_total", "process_resident_memory_bytes"]) {
        assert.ok((waiting(process) ?? 0) > 0, process);
      }
      assert.equal((await fetch(`${demo.baseUrl}/metrics`)).status, 404, "not on the port of clients");
      const worker = await command(["worker"], environment);
      context.after(() => worker.signal("SIGKILL"));
      await worker.match(/works on queued actions/);
      await until("the worker has come to it", async () => (await deadOnes(demo)).length === 1);

      const worked = await scrape(worker);
      assert.equal(worked('grandstand_queue_messages_total{step="taken"}'), 1);
      assert.equal(worked("grandstand_dead_letters"), 1);
      assert.equal(worked("grandstand_worker_alive"), 1);
      assert.equal(worked('grandstand_log_events_total{level="warn",event="action_dead"}'), 1);
      await until(
        "the action is settled",
        async () => (await scrape(worker))("grandstand_queue_depth") === 0,
      );

      const flags = ["--org", demo.organisationId, "--control-url", demo.baseUrl];
      const credentials = {
        GRANDSTAND_API_KEY: demo.apiKey?.key ?? "",
        GRANDSTAND_API_SECRET: demo.apiKey?.secret ?? "",
      };
      const listing = await command(["actions", "dead-letters", "list", ...flags], credentials);
      assert.equal(await listing.ended, 0, listing.stderr());
      const [id = "", , user, action] = listing.stdout().trim().split("\t");
      assert.deepEqual([user, action], [userId, "nothing-knows-this"]);
      const replay = await command(["actions", "dead-letters", "replay", "--all", ...flags], credentials);
      assert.equal(await replay.ended, 0, replay.stderr());
      assert.match(replay.stderr(), /Queued 1 again/);
      const gone = await command(["actions", "dead-letters", "replay", "--id", id, ...flags], credentials);
      assert.equal(await gone.ended, 6, gone.stderr());
      const wrong = await command(["actions", "dead-letters", "replay", ...flags], credentials);
      assert.equal(await wrong.ended, 2, wrong.stderr());
      await end(worker);
      await end(server);
    });
  }

  it("accepted into files before a kill are applied after a restart", async context => {
    const environment = { GRANDSTAND_DATA: join(folder, "data") };
    const first = await serveDemo(context, environment);
    // More than the worker applies before the kill.
    const actions = Array.from({ length: 500 }, (_, index) => ({ userId, action: `nothing-knows-${index}` }));
    const path = `${first.demo.baseUrl}/v1/api/audience/internal/actions/bulk`;
    const init = { method: "POST", headers: fields(first.demo), body: JSON.stringify({ actions }) };
    assert.equal((await fetch(path, init)).status, 202);
    first.server.signal("SIGKILL");
    await first.server.ended;
    const second = await serveDemo(context, environment);
    const demo = { ...second.demo, apiKey: first.demo.apiKey };
    await until("all actions were worked off", async () => (await deadPage(demo)).totalCount === 500);
    await end(second.server);
  });

  it("need a Redis that workers and servers share", async () => {
    const worker = await command(["worker"], {});
    assert.equal(await worker.ended, 1);
    assert.match(worker.stderr(), /Cannot work: GRANDSTAND_REDIS, GRANDSTAND_POSTGRES or GRANDSTAND_STORE/);
    const demo = await command(["worker", "--demo"], {});
    assert.equal(await demo.ended, 2);
  });
});
