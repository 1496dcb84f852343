/**
 * Rate limit decisions of 64 parallel callers over 10,000 subjects, beside rate-limiter-flexible, whose window is fixed
 * where this one slides.
 *
 * ```sh
 * npm run bench -- limiter            # memory and Redis, about a minute
 * npm run bench -- limiter memory
 * ```
 *
 * A machine so busy that Redis does not answer within 50 ms makes routes count in the process: such a row has no ratio.
 * Every sample is a fresh process; rounds interleave the variants and reverse their order.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { bundleForBench, median } from "./harness.ts";
import { type LimiterSample, limiterVariants } from "./limiter_sample.ts";

const rounds = 5;
const measureMs = 1_000;
/** The largest share of decisions made elsewhere with which a row still measures its limiter. */
const uncountedMax = 0.01;

const [only = ""] = process.argv.slice(2);
const program = await bundleForBench(fileURLToPath(new URL("limiter_sample.ts", import.meta.url)));
if ("memory".startsWith(only)) measure("memory", "");
if ("redis".startsWith(only) && redisAvailable() === false) await measureRedis();

async function measureRedis(): Promise<void> {
  const server = await startRedis();
  try {
    measure("Redis", server.socket);
  } finally {
    await server.kill();
  }
}

function measure(place: "memory" | "Redis", socket: string): void {
  const rows = Object.keys(limiterVariants[place]).map(name => ({ name, samples: [] as LimiterSample[] }));
  for (let round = 0; round < rounds; round++) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      row.samples.push(sample([place, row.name, String(measureMs), socket]));
    }
  }
  const base = rows[0]?.samples ?? [];
  console.log(
    `\n| ${place} | decisions/s | vs peer | CPU us each | CPU of peer vs this | not counted at most | raw decisions/s |`,
  );
  console.log("|---|---|---|---|---|---|---|");
  for (const { name, samples } of rows) {
    const of = (key: keyof LimiterSample): number => median(samples.map(each => each[key]));
    const ratio = median(samples.map(({ perSecond }, n) => perSecond / (base[n]?.perSecond ?? Number.NaN)));
    const cheaper = median(samples.map(({ cpuUs }, n) => (base[n]?.cpuUs ?? Number.NaN) / cpuUs));
    const uncounted = Math.max(...samples.map(each => each.uncounted));
    const ratioText = (value: number): string => (uncounted > uncountedMax ? "none" : value.toFixed(2));
    const raw = samples.map(({ perSecond }) => Math.round(perSecond)).join(" ");
    if (name !== rows[0]?.name)
      figure(
        `rate limit decision, ${place}, ${name}, to rate-limiter-flexible by processor time`,
        ratioText(cheaper),
      );
    console.log(
      `| ${name} | ${Math.round(of("perSecond")).toLocaleString("en")} | ${ratioText(ratio)} | ${of("cpuUs").toFixed(2)} | ${ratioText(cheaper)} | ${(uncounted * 100).toFixed(1)} % | ${raw} |`,
    );
  }
}

function sample(args: readonly string[]): LimiterSample {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(`The sample of ${args.join(" ")} failed: ${stderr}`);
  return JSON.parse(stdout) as LimiterSample;
}
