/**
 * The cost of a feed of 20 KB through the whole stack beside bare `node:http` that sends the same bytes, as 200 and as 304; and the
 * cost of counting the element that an action names, beside the same action that names nothing. In memory.
 *
 *     npm run bench -- feeds [rounds]
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { EventAnalytics } from "../../lib/authoring/feeds/event_analytics.ts";
import { ActionCounts, Owners } from "../../lib/authoring/feeds/mod.ts";
import { Places } from "../../lib/fans/directory/records.ts";
import { silentLogger } from "../../lib/http/mod.ts";
import { systemTimer } from "../../lib/storage/background/mod.ts";
import { operatorHeaders, resource, to } from "../http/_control_examples.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { figure } from "./figure.ts";
import { bundleForBench, canMeasure, compare, ratio, table, type Variant } from "./harness.ts";
import { type Commits, recordCommits } from "./recorded_commits.ts";

const rounds = Number(process.argv[2] ?? 3);
const elements = 50;
const reports = 20_000;
const text = "An element of some length, as a producer writes it. ".repeat(2);

async function openScene(): Promise<{
  world: TestPlatform;
  commits: Commits;
  elementId: string;
  path: string;
}> {
  const commits: Commits = [];
  const openStore = async (clock: () => number) => {
    const store = createMemoryStore({ clock });
    return recordCommits(store, commits);
  };
  const world = await openPlatform(openStore, { clock: Date.now, rateLimits: "off" });
  const headers = await operatorHeaders(world);
  const write = async (path: string, method: string, body: unknown): Promise<string> => {
    const answer = await world.call(`/api/v2${path}`, { method, body, headers });
    if (answer.status >= 300) throw new Error(`Cannot prepare: ${answer.status} ${answer.text}`);
    return answer.json?.data.id;
  };
  const inProject = { relationships: { project: to("projects", ids.project) } };
  const eventId = await write(
    "/events",
    "POST",
    resource("events", { name: "Show", duration: 0 }, inProject),
  );
  const act = (type: string, id: string, action: string) =>
    write(`/${type}/${id}`, "PATCH", resource(type, { action }, { id }));
  await act("events", eventId, "start");
  const inEvent = { relationships: { event: to("events", eventId) } };
  const question = { fields: [{ key: "text", values: { all: text } }] };
  let elementId = "";
  for (let index = 0; index < elements; index++) {
    const poll = resource("elements", { content_type: "poll", question }, inEvent);
    elementId = await write("/elements", "POST", poll);
    await act("elements", elementId, "publish");
  }
  const path = `/events/${eventId.slice(0, 2)}/${eventId}/history.json`;
  return { world, commits, elementId, path };
}

async function measureFeed(commits: Commits, path: string, text: string, etag: string): Promise<void> {
  const server = await bundleForBench(fileURLToPath(new URL("./http_stack_server.ts", import.meta.url)));
  const folder = mkdtempSync(join(tmpdir(), "grandstand-feeds-"));
  try {
    const file = join(folder, "scene.json");
    writeFileSync(file, JSON.stringify({ commits, answers: { [path]: text } }));
    const servers = ["bare", "grandstand"].map(
      (name): Variant => ({ name, command: [process.execPath, server, name, file] }),
    );
    const loads = [
      { what: `feed of ${Math.round(text.length / 1_000)} KB`, load: { path }, bar: "0.75" },
      { what: "feed, 304", load: { path, headers: { "if-none-match": etag } }, bar: "0.7" },
    ];
    for (const { what, load, bar } of loads) {
      const rows = await compare(servers, load, { rounds });
      console.log(`\n${what}\n\n${table(rows)}`);
      figure(`${what}, to bare node:http`, ratio(rows, "grandstand", "bare").toFixed(2), bar);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Compares the processor time of counting an action, which is most of a microsecond, with that of the action. */
async function measureCounting({ platform, store, clock }: TestPlatform, elementId: string): Promise<void> {
  const user = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project };
  const places = new Places({ store, random: size => crypto.getRandomValues(new Uint8Array(size)) });
  const { directory } = platform;
  const logger = silentLogger;
  const owners = new Owners({ store, places, directory, clock: clock.now });
  const shared = { store, timer: systemTimer, logger };
  const analytics = new EventAnalytics({ ...shared, clock: clock.now, holder: "bench" });
  const counts = new ActionCounts({ ...shared, owners, analytics });
  const userIds = Array.from({ length: 5_000 }, (_, index) => `user-${index}`);
  const spaceId = ids.space;
  const data = { elementId, option: 1 };
  const gained = { points: 1 };
  const usOf = async (work: () => Promise<void>): Promise<number> => {
    const before = process.cpuUsage();
    await work();
    const { user: own, system } = process.cpuUsage(before);
    return (own + system) / reports;
  };
  const report = async (): Promise<void> => {
    for (let index = 0; index < reports; index += 64) {
      const users = Array.from({ length: 64 }, (_, each) => ({
        ...user,
        userId: `user-${(index + each) % 5_000}`,
      }));
      const action = { action: "rest", data: { item: elementId, choice: 1 }, isClientReport: false };
      await Promise.all(users.map(each => platform.loyalty.report(each, action)));
    }
    await platform.idle();
  };
  const count = async (): Promise<void> => {
    for (let index = 0; index < reports; index++) {
      const userId = userIds[index % userIds.length] ?? "";
      counts.count({ spaceId, userId, data, gained, isReveal: false });
      // As many arrive between two writes at 20,000 a second.
      if (index % 10_000 === 0) await counts.idle();
    }
    await counts.idle();
  };
  const samples = { action: [] as number[], counting: [] as number[] };
  for (let round = 0; round < 2 * rounds + 3; round++) {
    samples.action.push(await usOf(report));
    samples.counting.push(await usOf(count));
  }
  // Noise of the machine only adds; the first rounds warm up.
  const [action, counting] = [Math.min(...samples.action), Math.min(...samples.counting)];
  console.log(`\nan action ${action.toFixed(1)} us, counting it ${counting.toFixed(2)} us`);
  figure("counting the element of an action, to the action", (counting / action).toFixed(3), "0.03");
}

const { world, commits, elementId, path } = await openScene();
const sent = await world.call(path);
if (process.argv[3] !== "counting" && canMeasure())
  await measureFeed(commits, path, sent.text, sent.headers.get("etag") ?? "");
await measureCounting(world, elementId);
await world.dispose();
