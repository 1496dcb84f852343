/**
 * A live final: fans arrive in waves, register, act in bursts, and look at profiles and boards; some listen to a live board; a back
 * end sends batches; a producer publishes from the command line; an export runs. One server is restarted, the worker is killed, and
 * Redis is restarted; on PostgreSQL all three are killed. In the end every acknowledged effect is compared with boards, ledgers and an export.
 *
 *     npm run bench -- live_final [--fans 100000] [--minutes 10] [--listeners 2000] [--store postgres] [--out folder]
 *
 * Two servers and a worker on one Redis with AOF (everysec), or on one PostgreSQL that syncs each commit. The clients are in this process and share the machine: latencies contain
 * the waiting of both, from the time at which a request was meant to be made.
 *
 * @module
 */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { figure } from "./figure.ts";
import { Balancer } from "./live_final/client.ts";
import { Crowd } from "./live_final/fans.ts";
import { Listeners } from "./live_final/listeners.ts";
import { Measures } from "./live_final/measures.ts";
import { createPlan } from "./live_final/plan.ts";
import { Producer } from "./live_final/producer.ts";
import { Auditor, type Reckoning } from "./live_final/reconcile.ts";
import { type Incident, report, type Sample, summary } from "./live_final/report.ts";
import { roles, Stage } from "./live_final/stage.ts";

const { values } = parseArgs({
  options: {
    fans: { type: "string", default: "100000" },
    minutes: { type: "string", default: "10" },
    listeners: { type: "string", default: "2000" },
    store: { type: "string", default: "redis" },
    out: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});
const [fans, listenersCount] = [Number(values.fans), Number(values.listeners)];
const durationMs = Number(values.minutes) * 60_000;
/** Time between two rounds of the plan, in ms. */
const tickMs = 5;
/** Time between two batches of the back end, in ms. */
const batchMs = 1_500;

const store = values.store === "postgres" ? "postgres" : "redis";
const databaseName = store === "postgres" ? "PostgreSQL" : "Redis";
const { stage, demo } = await Stage.open({}, store);
const plan = createPlan(fans, durationMs, Number(values.seed));
const producer = new Producer(stage, demo);
await producer.prepare();

const startedAt = performance.now();
const measures = new Measures(startedAt);
const balancer = new Balancer(stage.ports, measures);
const crowd = new Crowd(plan, demo, balancer);
const auditor = new Auditor(demo, balancer);
const listeners = new Listeners();
const incidents: Incident[] = [];
const samples: Sample[] = [];
const loop = monitorEventLoopDelay({ resolution: 5 });
loop.enable();
let isOver = false;

function note(text: string): void {
  const second = (performance.now() - startedAt) / 1_000;
  incidents.push({ second, text });
  console.log(`${second.toFixed(1).padStart(6)} s  ${text}`);
}

/** Resolves at a share of the show. */
async function until(share: number): Promise<void> {
  await wait(Math.max(0, startedAt + share * durationMs - performance.now()));
}

async function playFans(): Promise<void> {
  while (crowd.advance(startedAt)) await wait(tickMs);
  while (crowd.underWay.size > 0) await Promise.all(crowd.underWay);
}

async function playBackEnd(): Promise<void> {
  for (let at = startedAt + batchMs; !isOver || crowd.undecided > 0; at += batchMs) {
    await wait(Math.max(0, at - performance.now()));
    while ((await crowd.decide(Math.max(at, performance.now() - batchMs))) === 1_000);
  }
}

async function playRewards(): Promise<void> {
  for (let turn = 0; !isOver; turn++) {
    await crowd.reward(turn);
    await wait(1_000);
  }
}

async function playListeners(): Promise<void> {
  const path = `/projects/${demo.projectId}/leaderboards/overall?limit=10`;
  for (let n = 0; n < listenersCount; n++) {
    listeners.listen(path, () => balancer.port());
    if (n % 20 === 19) await wait(durationMs / 10 / Math.max(1, listenersCount / 20));
  }
}

async function playProducer(): Promise<void> {
  for (const share of [0.1, 0.3, 0.5, 0.7, 0.85, 0.95]) {
    await until(share);
    await producer.publish();
  }
}

async function playOperator(): Promise<number> {
  await until(0.35);
  note("server A is restarted");
  const exit = await stage.end("server A", store === "postgres" ? "SIGKILL" : "SIGTERM");
  await stage.startServer("server A");
  note(`server A is back (it ended with ${exit})`);
  await until(0.48);
  note("an export begins");
  const exporting = auditor.exportPoints();
  await until(0.58);
  note("the worker is killed");
  await stage.end("worker", "SIGKILL");
  await wait(3_000);
  await stage.startWorker();
  note("a worker is started");
  await until(0.75);
  note(`${databaseName} is restarted`);
  await stage.restartDatabase();
  note(`${databaseName} is back`);
  const { points, ms } = await exporting;
  note(`the export had ${points.size} users after ${(ms / 1_000).toFixed(1)} s`);
  return ms;
}

async function sample(): Promise<void> {
  while (!isOver) {
    const redisInfo =
      store === "redis" ? `${await stage.redis.command("INFO", "memory").catch(() => "")}` : "";
    samples.push({
      second: (performance.now() - startedAt) / 1_000,
      usage: Object.fromEntries(roles.map(role => [role, stage.usage(role)])),
      redisBytes: Number(/used_memory:(\d+)/.exec(redisInfo)?.[1] ?? Number.NaN),
      listeners: listeners.open,
    });
    await wait(1_000);
  }
}

/** Waits until boards have what is on record, for at most a minute. */
async function settled(): Promise<Reckoning> {
  for (let attempt = 0; ; attempt++) {
    const reckoning = await auditor.reckon(crowd);
    if (reckoning.faults.length === 0 || attempt === 4) return reckoning;
    note(`${reckoning.faults.length} differences so far`);
    await wait(5_000);
  }
}

note(`${fans} fans, ${plan.at.length} steps in ${durationMs / 1_000} s`);
const sampling = sample();
const others = [playListeners(), playProducer(), playOperator()];
const backEnd = Promise.all([playBackEnd(), playRewards()]);
await playFans();
await Promise.all(others);
isOver = true;
await backEnd;
note("the show is over");
const reckoning = await settled();
for (const fault of reckoning.faults.slice(0, 20)) console.log(`fault: ${fault}`);
await producer.check();
note(reckoning.faults.length === 0 ? "nothing lost, nothing doubled" : `${reckoning.faults.length} faults`);
await sampling;
listeners.stop();
balancer.stop();

const facts = {
  ...{
    databaseName,
    fans,
    durationMs,
    measures,
    incidents,
    samples,
    reckoning,
    listeners,
    commandMs: producer.commandMs,
  },
  batches: crowd.batches,
  clientDelayMs: loop.percentile(99) / 1e6,
};
console.log(`\n${summary(facts)}\n`);
const folder = values.out ?? mkdtempSync(join(tmpdir(), "live-final-page-"));
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "live_final.html"), report(facts));
console.log(`The page is ${join(folder, "live_final.html")}`);
await stage.close();

const answers = [...measures.routes.values()].reduce((sum, { count }) => sum + count, 0);
figure(
  `live final of ${fans} fans in ${values.minutes} minutes, two servers, a worker, ${databaseName}: answers, faults`,
  `${answers} (${Math.round((answers / durationMs) * 1_000)}/s), ${reckoning.faults.length}`,
  "0 faults",
);
process.exit(reckoning.faults.length === 0 ? 0 : 1);
