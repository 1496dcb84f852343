/**
 * Decisions of 64 parallel callers on one partition, beside the same work without `decide`.
 *
 * ```sh
 * npm run bench -- decide            # memory and Redis, about a minute
 * npm run bench -- decide memory
 * ```
 *
 * Every sample is a fresh process; rounds interleave the variants and reverse their order.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { actionNames, type DecideSample } from "./decide_sample.ts";
import { bundleForBench, median } from "./harness.ts";

const rounds = 5;
const measureMs = 1_000;

const [only = ""] = process.argv.slice(2);
const program = await bundleForBench(fileURLToPath(new URL("decide_sample.ts", import.meta.url)));
if ("memory".startsWith(only)) measure("memory", "");
if ("redis".startsWith(only) && redisAvailable() === false) await measureRedis();

async function measureRedis(): Promise<void> {
  const server = await startRedis();
  try {
    measure("Redis over a unix socket", server.socket);
  } finally {
    await server.kill();
  }
}

function measure(title: string, socket: string): void {
  const rows = actionNames.map(name => ({ name, samples: [] as DecideSample[] }));
  for (let round = 0; round < rounds; round++) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) row.samples.push(sample(row.name, socket));
  }
  console.log(`\n| ${title} | decisions/s | CPU us each | store calls each | raw decisions/s |`);
  console.log("|---|---|---|---|---|");
  for (const { name, samples } of rows) {
    const of = (key: keyof DecideSample): number => median(samples.map(each => each[key]));
    const raw = samples.map(({ perSecond }) => Math.round(perSecond)).join(" ");
    console.log(
      `| ${name} | ${Math.round(of("perSecond")).toLocaleString("en")} | ${of("cpuUs").toFixed(2)} | ${of("trips").toFixed(3)} | ${raw} |`,
    );
  }
}

function sample(name: string, socket: string): DecideSample {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, name, String(measureMs), socket], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`The sample of ${name} failed: ${stderr}`);
  return JSON.parse(stdout) as DecideSample;
}
