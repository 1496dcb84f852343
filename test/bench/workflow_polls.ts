/**
 * Polls of 1,000 dialogues at 2 s against one process on Redis: how long they take, round trips to the store, control calls.
 *
 * ```sh
 * npm run bench -- workflow_polls [seconds]
 * ```
 *
 * The polls come from this process over HTTP, at even distances. Each dialogue has a user and a running task of its own.
 */

import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { systemClock } from "../../lib/auth/crypto/mod.ts";
import { silentLogger } from "../../lib/http/mod.ts";
import type { Batch, Partition, Read, Store } from "../../lib/storage/mod.ts";
import { text, workflow } from "../../lib/workflow/mod.ts";
import { serve } from "../../runtime/node.ts";
import { sharedRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";

const dialogues = 1_000;
const intervalMs = 2_000;
const counts = { trips: 0, control: 0 };

function counting(store: Store): Store {
  return {
    traits: store.traits,
    ping: () => store.ping(),
    read(partition: Partition, queries: readonly Read[]) {
      counts.trips += 1;
      return store.read(partition, queries) as never;
    },
    commit(partition: Partition, batch: Batch) {
      counts.trips += 1;
      return store.commit(partition, batch);
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

const role = {
  type: "scope_roles",
  id: "e",
  attributes: { role: "creator" },
  meta: { parents: [{ type: "organisations", id: "o" }] },
};

async function runServer(): Promise<void> {
  const store = createRedisStore({
    server: process.env.BENCH_REDIS ?? "",
    prefix: "polls:",
    clock: systemClock,
  });
  const wf = workflow({
    name: "bench",
    secret: "a secret for benchmarks, which is long enough",
    store: counting(store),
    control: "https://studio.example",
    endpoint: "https://backend.example",
    require: { scope: ["event"], role: "creator" },
    logger: silentLogger,
    async fetch(url, { headers }) {
      counts.control += 1;
      const id = new Headers(headers).get("authorization") ?? "";
      return Response.json(url.endsWith("/me") ? { data: { id, attributes: {} } } : { included: [role] });
    },
  })
    .start(c => c.view(text`Import?`).button("go", "Go"))
    .on("go", c => c.task("endless", null, text`Importing`).button("stop", "Stop"))
    .task("endless", {}, () => new Promise(() => {}));
  const server = await serve(
    async incoming =>
      incoming.method === "GET"
        ? Response.json({ ...counts, cpu: process.cpuUsage() })
        : await wf.fetch(incoming),
    { port: 0 },
  );
  process.send?.(server.url);
  process.once("disconnect", () => process.exit());
}

const agent = new Agent({ keepAlive: true, maxSockets: 200 });

function send(url: string, method: string, token: string, body = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const sent = request(url, { method, agent, headers }, answer => {
      let received = "";
      answer.setEncoding("utf8");
      answer.on("data", chunk => {
        received += chunk;
      });
      answer.on("end", () => (answer.statusCode === 200 ? resolve(received) : reject(new Error(received))));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function measure(seconds: number): Promise<void> {
  const redis = await sharedRedis();
  const child = fork(fileURLToPath(import.meta.url), ["server"], {
    env: { ...process.env, BENCH_REDIS: redis.url },
  });
  const [url]: readonly string[] = await once(child, "message");
  if (url === undefined) throw new Error("The server did not start");
  const context = { baseURL: "https://studio.example", eventId: "e" };
  const polls: (readonly [string, string])[] = [];
  for (let index = 0; index < dialogues; index++) {
    const token = `user-${index}`;
    const first = JSON.parse(await send(url, "POST", token, JSON.stringify({ context })));
    const press = { context, action: "go", payload: first.payload };
    const { payload, task } = JSON.parse(await send(url, "POST", token, JSON.stringify(press)));
    polls.push([token, JSON.stringify({ context, taskId: task.id, payload })]);
  }
  const times: number[] = [];
  const before = JSON.parse(await send(url, "GET", ""));
  const began = performance.now();
  const pending: Promise<unknown>[] = [];
  const total = Math.floor((dialogues * seconds * 1_000) / intervalMs);
  for (let count = 0; count < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - began) * dialogues) / intervalMs));
    for (; count < due; count++) {
      const [token, body] = polls[count % dialogues] ?? ["", ""];
      const sentAt = performance.now();
      pending.push(send(url, "POST", token, body).then(() => times.push(performance.now() - sentAt)));
    }
    await wait(1);
  }
  await Promise.all(pending);
  const spent = performance.now() - began;
  const after = JSON.parse(await send(url, "GET", ""));
  child.kill();
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
  const cpu = (after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system) / 1_000 / spent;
  const trips = (after.trips - before.trips) / times.length;
  const control = (after.control - before.control) / times.length;
  console.log(
    `${times.length} polls: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, core ${(cpu * 100).toFixed(0)} %`,
  );
  console.log(`${trips.toFixed(2)} round trips and ${control.toFixed(2)} control calls a poll`);
  figure("1,000 dialogues polling at 2 s on Redis: p99", `${at(0.99)} ms`, "50 ms");
  figure("the same: round trips a poll", trips.toFixed(2), "2");
}

if (process.argv[2] === "server") await runServer();
else {
  await measure(Number(process.argv[2] ?? 10));
  process.exit();
}
