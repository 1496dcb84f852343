/**
 * The import of a file of users, beside bulk updates of the same users: how fast, and in how much memory.
 *
 * ```sh
 * npm run bench -- import [rows, by default 100000]
 * ```
 *
 * Every sample is a process of its own on one Redis, with users of its own, none of whom exists. `import` sends one file of JSON
 * lines, made while it is read. `updates` sends the same rows as bulk updates of 1,000, one request after the other. `again`
 * imports the file of the sample before it, of which nothing changes. Growth is that of the resident memory after a warm-up of
 * 2,000 rows; most of it is the caches of users, which bulk updates fill too.
 */

import { performance } from "node:perf_hooks";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { sampleInFreshProcess } from "./fresh_process.ts";

const rowsDefault = 100_000;
const warmUpRows = 2_000;
const batchRows = 1_000;
const base = "/v1/api/audience/internal";

interface Sample {
  readonly seconds: number;
  readonly growthMb: number;
}
type Send = (path: string, type: string, body: BodyInit) => Promise<string>;

function* usersOf(prefix: string, from: number, to: number) {
  for (let n = from; n < to; n++) {
    const customFields = { shirt: "M", goals: n };
    yield { userId: `${prefix}-${n}`, displayName: `Fan number ${n}`, customFields, points: n };
  }
}

async function importRows(send: Send, prefix: string, rows: number): Promise<void> {
  const users = usersOf(prefix, 0, rows);
  const utf8 = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      let text = "";
      while (text.length < 65_536) {
        const { done, value } = users.next();
        if (done === true) break;
        const { points, ...user } = value;
        text += `${JSON.stringify({ ...user, metrics: { points } })}\n`;
      }
      if (text === "") controller.close();
      else controller.enqueue(utf8.encode(text));
    },
  });
  const answer = await send("/users/import", "application/x-ndjson", body);
  const { summary } = JSON.parse(answer.slice(answer.lastIndexOf("\n", answer.length - 2) + 1));
  if (summary.changed + summary.unchanged !== rows) throw new Error(JSON.stringify(summary));
}

async function updateRows(send: Send, prefix: string, rows: number): Promise<void> {
  for (let from = 0; from < rows; from += batchRows) {
    const updates = [...usersOf(prefix, from, Math.min(rows, from + batchRows))].map(
      ({ points, ...user }) => ({ ...user, metrics: { points: { op: "set", value: points } } }),
    );
    const answer = await send("/profiles/update-batch", "application/json", JSON.stringify({ updates }));
    if (JSON.parse(answer).data.errors) throw new Error(answer.slice(0, 500));
  }
}

async function sample(way: string, prefix: string, rows: number, url: string): Promise<Sample> {
  const world = await openPlatform(async clock => createRedisStore({ server: url, prefix: "bench:", clock }));
  const { key, secret } = await world.platform.apiKeys.create({
    organisationId: ids.organisation,
    name: "Files",
    permissions: ["users:write"],
  });
  const credentials = { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": ids.organisation };
  const send: Send = async (path, type, body) => {
    const headers = { ...credentials, "content-type": type };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    const response = await world.platform.fetch(new Request(`http://club.example${base}${path}`, init));
    let text = "";
    // Of the lines of an import the last chunk alone is kept, as by a client that streams.
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text = way === "updates" ? text + chunk : chunk;
    }
    if (response.status !== 200) throw new Error(text);
    return text;
  };
  const run = way === "updates" ? updateRows : importRows;
  await run(send, `warm-${prefix}`, warmUpRows);
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 20);
  const began = performance.now();
  await run(send, prefix, rows);
  const seconds = (performance.now() - began) / 1_000;
  clearInterval(watch);
  await world.dispose();
  return { seconds, growthMb: (most - before) / 1_048_576 };
}

async function compare(rows: string): Promise<void> {
  const server = await startRedis();
  const samples: Record<string, Sample[]> = { import: [], updates: [], again: [] };
  try {
    for (const [way, prefix] of [
      ["import", "a"],
      ["updates", "b"],
      ["updates", "c"],
      ["import", "d"],
      ["again", "d"],
    ] as const) {
      const taken = await sampleInFreshProcess<Sample>(import.meta.url, way, prefix, rows, server.url);
      samples[way]?.push(taken);
      const rate = Math.round(Number(rows) / taken.seconds).toLocaleString("en");
      console.log(
        `${way}: ${taken.seconds.toFixed(1)} s, ${rate} rows/s, grew ${taken.growthMb.toFixed(0)} MB`,
      );
    }
  } finally {
    await server.kill();
  }
  const best = (way: string): number => Math.min(...(samples[way] ?? []).map(({ seconds }) => seconds));
  const rate = (way: string): string => Math.round(Number(rows) / best(way)).toLocaleString("en");
  const title = `import of ${rows} rows, Redis`;
  figure(title, `${rate("import")} rows/s; again ${rate("again")}`);
  figure(`${title}: rate to bulk updates`, (best("updates") / best("import")).toFixed(2), "0.5");
  const growth = (way: string): string =>
    `${Math.max(...(samples[way] ?? []).map(({ growthMb }) => growthMb)).toFixed(0)} MB`;
  figure(`${title}: memory grew by`, `${growth("import")}; by bulk updates ${growth("updates")}`);
}

if (process.argv[2] === "--sample") {
  const [, , , way = "", prefix = "", rows = "", url = ""] = process.argv;
  console.log(JSON.stringify(await sample(way, prefix, Number(rows), url)));
} else {
  await compare(process.argv[2] ?? String(rowsDefault));
}
