/**
 * The Redis adapter beside bare ioredis doing the same work.
 *
 * ```sh
 * node --import tsx test/bench/redis.ts            # all, about a minute
 * node --import tsx test/bench/redis.ts commit     # only what begins with this
 * ```
 *
 * Every sample is a fresh process with 64 concurrent callers on one unix socket; rounds interleave the variants and
 * reverse their order. Beside calls per second it prints the processor time of client and server per call, which
 * hardly depends on what else the machine does.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { startRedis } from "../support/redis.ts";
import { median } from "./harness.ts";
import { fillBoards, groups, variants } from "./redis_variants.ts";

const callers = 64;
const warmupMs = 300;
const measureMs = 1_500;
const rounds = 5;

interface Sample {
  readonly perSecond: number;
  readonly clientUs: number;
  readonly serverUs: number;
}

const [mode = "", name = "", socket = ""] = process.argv.slice(2);
if (mode === "--sample") console.log(JSON.stringify(await sample(name, socket)));
else await main(mode);

async function main(only: string): Promise<void> {
  const server = await startRedis();
  try {
    await fillBoards(server.socket);
    for (const group of groups.filter(({ title }) => title.startsWith(only))) {
      const rows = group.variants.map(variant => ({ variant, samples: [] as Sample[] }));
      for (let round = 0; round < rounds; round++) {
        for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
          row.samples.push(await sampleInFreshProcess(row.variant, server.socket));
        }
      }
      print(group.title, rows);
    }
  } finally {
    await server.kill();
  }
}

function print(title: string, rows: readonly { variant: string; samples: readonly Sample[] }[]): void {
  const of = (samples: readonly Sample[], key: keyof Sample): number => median(samples.map(one => one[key]));
  const baseline = of(rows[0]?.samples ?? [], "perSecond");
  console.log(`\n| ${title} | calls/s | vs first | client CPU us | server CPU us | raw calls/s |`);
  console.log("|---|---|---|---|---|---|");
  for (const { variant, samples } of rows) {
    const cells = [
      variant,
      Math.round(of(samples, "perSecond")).toLocaleString("en"),
      (of(samples, "perSecond") / baseline).toFixed(2),
      of(samples, "clientUs").toFixed(1),
      of(samples, "serverUs").toFixed(1),
      samples.map(({ perSecond }) => Math.round(perSecond / 1000)).join(" "),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

async function sampleInFreshProcess(variant: string, socket: string): Promise<Sample> {
  const args = ["--import", "tsx", fileURLToPath(import.meta.url), "--sample", variant, socket];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", chunk => {
    printed += chunk;
  });
  const code = await new Promise(resolve => child.once("close", resolve));
  if (code !== 0) throw new Error(`Cannot measure ${variant}: the process ended with ${code}`);
  return JSON.parse(printed) as Sample;
}

async function sample(variant: string, socket: string): Promise<Sample> {
  const open = variants.get(variant);
  if (open === undefined) throw new RangeError(`Cannot measure ${variant}: it is unknown`);
  const { call, callsPerTurn = 1, serverCpuUs, close } = await open(socket);
  let turns = 0;
  let running = true;
  async function caller(index: number): Promise<void> {
    while (running) {
      await call(index);
      turns += 1;
    }
  }
  const all = Array.from({ length: callers / callsPerTurn }, (_, index) => caller(index));
  await new Promise(resolve => setTimeout(resolve, warmupMs));
  const before = { turns, cpu: process.cpuUsage(), server: await serverCpuUs(), at: performance.now() };
  await new Promise(resolve => setTimeout(resolve, measureMs));
  const cpu = process.cpuUsage(before.cpu);
  const seconds = (performance.now() - before.at) / 1_000;
  const calls = (turns - before.turns) * callsPerTurn;
  const serverUs = (await serverCpuUs()) - before.server;
  running = false;
  await Promise.all(all);
  await close();
  return {
    perSecond: calls / seconds,
    clientUs: (cpu.user + cpu.system) / calls,
    serverUs: serverUs / calls,
  };
}
