/**
 * The cost of listeners of one live board: reads of the board, messages, processor time, and the delay of messages.
 *
 *     npm run bench -- live [--listeners 1000] [--seconds 10] [--writes 50] [--store memory|redis]
 *
 * A server of its own with the whole platform listens on loopback. The listeners are sockets of this process; they ask for
 * 10, 50 and 100 users in rotation. The server writes scores at a fixed rate, and each changes the leaders. Processor time is
 * that of the server alone; it contains the writes, whose share a run with one listener shows.
 *
 * @module
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { systemClock } from "../../lib/auth/crypto/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { changeScores } from "../../lib/fans/leaderboards/scores/change_scores.ts";
import { boardPartition, locateBoard } from "../../lib/fans/leaderboards/scores/resolve_board.ts";
import { defaultBoard } from "../../lib/fans/leaderboards/settings/board_settings.ts";
import { createPlatform } from "../../lib/mod.ts";
import type { Partition, Read, Results, Store } from "../../lib/storage/mod.ts";
import { serve } from "../../runtime/node.ts";
import { ids, seed, testSecret } from "../support/platform.ts";
import { sharedRedis } from "../support/redis.ts";
import { WatchedStore } from "../support/watched_store.ts";
import { figure } from "./figure.ts";

const members = 1_000;
const address = { projectId: ids.project, eventId: null, leaderboardId: "goals", season: "" };
const partition = boardPartition(address, 0);
const path = `/projects/${ids.project}/leaderboards/goals`;

interface Report {
  readonly reads: number;
  readonly cpuMs: number;
  readonly ms: number;
  readonly listeners: number;
}

/** Counts the reads of the board, and forgets commits. */
class CountingStore extends WatchedStore {
  boardReads = 0;

  override read<const Q extends readonly Read[]>(from: Partition, queries: Q): Promise<Results<Q>> {
    if (from === partition) this.boardReads += 1;
    return super.read(from, queries);
  }
}

async function openStore(name: string): Promise<Store> {
  if (name !== "redis") return createMemoryStore({ clock: systemClock });
  return createRedisStore({ server: process.env.BENCH_REDIS ?? "", prefix: "live:", clock: systemClock });
}

async function runServer(storeName: string, writes: number): Promise<void> {
  const store = new CountingStore(await openStore(storeName));
  await seedDirectory(store, seed);
  const platform = await createPlatform({ store, secret: testSecret });
  const location = locateBoard(defaultBoard("goals"), address);
  const scores = Array.from({ length: members }, (_, user) => ({
    userId: `user-${user}`,
    score: user,
    at: 1,
    operator: "set" as const,
  }));
  await changeScores(store, location, scores);
  const server = await serve(platform.fetch, { port: 0 });
  let next = members;
  const writing = setInterval(() => {
    store.commits.length = 0;
    const entry = {
      userId: `user-${next % members}`,
      score: next,
      at: systemClock(),
      operator: "set",
    } as const;
    next += 1;
    void changeScores(store, location, [entry]);
  }, 1_000 / writes);
  console.log(server.url);
  let cpu = process.cpuUsage();
  let since = performance.now();
  for await (const line of createInterface({ input: process.stdin })) {
    const now = performance.now();
    const used = process.cpuUsage(cpu);
    const report: Report = {
      reads: store.boardReads,
      cpuMs: (used.user + used.system) / 1_000,
      ms: now - since,
      listeners: platform.leaderboards.live.size,
    };
    console.log(JSON.stringify(report));
    [cpu, since, store.boardReads] = [process.cpuUsage(), now, 0];
    if (line === "stop") break;
  }
  clearInterval(writing);
  await server.stop();
  await platform.close();
  await store[Symbol.asyncDispose]();
  process.exit();
}

interface Heard {
  messages: number;
  bytes: number;
  /** Delay of each listener after the first that received a change, in ms. */
  readonly lags: number[];
}

function listen(url: URL, limit: number, heard: Heard, firstOf: Map<string, number>): Socket {
  const socket = connect(Number(url.port), url.hostname);
  socket.setEncoding("utf8");
  socket.write(
    `GET ${path}?limit=${limit} HTTP/1.1\r\nhost: ${url.host}\r\naccept: text/event-stream\r\n\r\n`,
  );
  socket.on("data", (text: string) => {
    heard.bytes += text.length;
    for (const [, id = ""] of text.matchAll(/^id: (\d+)$/gm)) {
      const now = performance.now();
      const first = firstOf.get(id) ?? now;
      firstOf.set(id, first);
      heard.messages += 1;
      heard.lags.push(now - first);
    }
  });
  return socket;
}

async function measure(listeners: number, { seconds, writes, store }: Options): Promise<void> {
  const redis = store === "redis" ? (await sharedRedis()).url : "";
  const args = [
    "--import",
    "tsx",
    fileURLToPath(import.meta.url),
    "--serve",
    "--store",
    store,
    "--writes",
    `${writes}`,
  ];
  const child = spawn(process.execPath, args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, BENCH_REDIS: redis },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => (await lines.next()).value ?? "";
  const url = new URL(await line());
  const heard: Heard = { messages: 0, bytes: 0, lags: [] };
  const firstOf = new Map<string, number>();
  const sockets = Array.from({ length: listeners }, (_, index) =>
    listen(url, [10, 50, 100][index % 3] ?? 10, heard, firstOf),
  );
  await Promise.all(sockets.map(socket => once(socket, "data")));
  await wait(2_000);
  child.stdin.write("begin\n");
  await line();
  Object.assign(heard, { messages: 0, bytes: 0 });
  heard.lags.length = 0;
  await wait(seconds * 1_000);
  child.stdin.write("stop\n");
  const report = JSON.parse(await line()) as Report;
  for (const socket of sockets) socket.destroy();
  await once(child, "exit");
  const lags = heard.lags.toSorted((a, b) => a - b);
  const lag = (part: number): string => (lags[Math.floor((lags.length - 1) * part)] ?? 0).toFixed(1);
  const per = (count: number): string => (count / (report.ms / 1_000)).toFixed(2);
  figure(
    `${report.listeners} listeners of a live board (${store})`,
    `${per(report.reads)} board reads/s, ${((100 * report.cpuMs) / report.ms).toFixed(1)} % of a core`,
    "1 board read/s",
  );
  console.log(
    `${String(report.listeners).padStart(5)} listeners (${store}): ${per(report.reads)} board reads/s, ` +
      `${per(heard.messages)} messages/s, ${(heard.bytes / 1_048_576 / (report.ms / 1_000)).toFixed(2)} MiB/s, ` +
      `processor ${((100 * report.cpuMs) / report.ms).toFixed(1)} % of a core, ` +
      `a listener hears of a change ${lag(0.5)} ms (median), ${lag(0.99)} ms (99 %) after the first one does`,
  );
}

interface Options {
  readonly seconds: number;
  readonly writes: number;
  readonly store: string;
}

const { values } = parseArgs({
  options: {
    listeners: { type: "string", default: "1000" },
    seconds: { type: "string", default: "10" },
    writes: { type: "string", default: "50" },
    store: { type: "string", default: "memory" },
    serve: { type: "boolean", default: false },
  },
});
const { store } = values;
const writes = Number(values.writes);
if (values.serve) await runServer(store, writes);
for (const listeners of [1, Number(values.listeners)]) {
  await measure(listeners, { seconds: Number(values.seconds), writes, store });
}
process.exit();
