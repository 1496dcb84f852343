/**
 * Counts the source files and functions that one warm request executes.
 *
 * ```sh
 * node --import tsx test/bench/executed_files.ts        # counts
 * node --import tsx test/bench/executed_files.ts --all  # and the files by functions
 * ```
 */

import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { operatorHeaders } from "../http/_control_examples.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";

/** Files below the repository, with the number of functions that ran in each. */
export type ExecutedFiles = ReadonlyMap<string, number>;

const root = fileURLToPath(new URL("../..", import.meta.url));
const product = /^(?:lib|adapters|runtime)\//;

/** Runs that are compared: what only some of them execute depends on chance, or is periodic work that falls into them. */
const runs = 3;

/** Runs a request a few times, then under the profiler. Returns what each run executes. */
async function executedBy(session: Session, request: () => Promise<unknown>): Promise<ExecutedFiles> {
  for (let count = 0; count < 5; count++) await request();
  let common = await executedOnce(session, request);
  for (let run = 1; run < runs; run++) {
    const files = await executedOnce(session, request);
    common = new Map([...common].filter(([path]) => files.has(path)));
  }
  return common;
}

async function executedOnce(session: Session, request: () => Promise<unknown>): Promise<ExecutedFiles> {
  await session.post("Profiler.takePreciseCoverage");
  await request();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const files = new Map<string, number>();
  for (const { url, functions } of result) {
    const path = url.startsWith("file:") ? fileURLToPath(url).replace(root, "") : "";
    const executed = functions.filter(({ ranges: [range] }) => (range?.count ?? 0) > 0);
    if (product.test(path) && executed.length > 0) files.set(path, executed.length);
  }
  return files;
}

/** The requests that are counted. */
export const requestNames = [
  "report an action",
  "redeem a product",
  "read a leaderboard",
  "register a user",
  "change an event",
] as const;

/** Counts what each request executes on a platform in memory. */
export async function measureExecutedFiles(): Promise<
  Readonly<Record<(typeof requestNames)[number], ExecutedFiles>>
> {
  const world = await openPlatform(async clock => createMemoryStore({ clock }), { http: {} });
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  try {
    return await measure(world, session);
  } finally {
    session.disconnect();
    await world.dispose();
  }
}

async function measure(world: TestPlatform, session: Session): ReturnType<typeof measureExecutedFiles> {
  const fan = await world.fan("Sam");
  const selector = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
  const { fetch } = world.platform;
  const send = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(new Request(`http://club.example${path}`, init));
  const post = (path: string, body: unknown, token?: string): Promise<Response> =>
    send(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
    });
  const redeemPoster = async () => {
    const answer = await send("/v1/api/audience/products/poster/redeem", {
      method: "POST",
      body: JSON.stringify({ quantity: 1 }),
      headers: {
        "content-type": "application/json",
        "x-platform-org-id": ids.organisation,
        "x-platform-space-id": ids.space,
        authorization: `Bearer ${fan.token}`,
      },
    });
    if (answer.status !== 201) throw new Error(`Cannot redeem the poster: ${await answer.text()}`);
  };
  const action = { action: "prediction", data: { outcome: "exact" } };
  const author = { ...(await operatorHeaders(world)), "content-type": "application/vnd.api+json" };
  let changes = 0;
  const changeEvent = () => {
    const data = { type: "events", id: ids.event, attributes: { name: `Change ${++changes}` } };
    return send(`/api/v2/events/${ids.event}`, {
      method: "PATCH",
      body: JSON.stringify({ data }),
      headers: author,
    });
  };
  return {
    "report an action": await executedBy(session, () => post("/api/loyalty/action", action, fan.token)),
    "redeem a product": await executedBy(session, () => redeemPoster()),
    "read a leaderboard": await executedBy(session, () =>
      send(`/projects/${ids.project}/leaderboards/overall?limit=10`),
    ),
    "register a user": await executedBy(session, () =>
      post("/v1/user", { ...selector, data: { username: "Kim" } }),
    ),
    "change an event": await executedBy(session, changeEvent),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const measured = await measureExecutedFiles();
  for (const name of requestNames) {
    const files = measured[name];
    const functions = [...files.values()].reduce((sum, count) => sum + count, 0);
    console.log(`${name}: ${files.size} files, ${functions} functions`);
    if (!process.argv.includes("--all")) continue;
    for (const [file, count] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
      console.log(`  ${count}\t${file}`);
  }
}
