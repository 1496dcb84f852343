/**
 * The cost of encryption and Base64 of an export on each runtime, beside a pipeline of node:crypto and Buffer that is written
 * inline; and the cost of each cipher and encoder alone.
 *
 *     npm run bench -- export_cipher
 *
 * Every runtime runs all ways in turn, each round in the reverse order of the last. The ratios are medians over rounds, by
 * the clock on the wall and by the processor time of all threads. The gap is the
 * longest time between two turns of the event loop while 64 MiB are encrypted, once by the clock and once without the time in
 * which the event loop had no core, which Linux counts; medians over runs.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { runtimes } from "../runtime/runtimes.ts";
import type { CipherSample, Cost } from "./export_cipher_sample.ts";
import { figure } from "./figure.ts";
import { bundleForBench, median } from "./harness.ts";

/** Most that the product may take of what the inline pipeline takes. */
const ratioMax = 1.3;
/** Longest gap between two turns of the event loop, in ms. */
const gapMsMax = 20;

const script = await bundleForBench(fileURLToPath(new URL("./export_cipher_sample.ts", import.meta.url)));
const measured = runtimes
  .filter(({ name, skip }) => skip === false && !name.endsWith("20.20.2, source"))
  .map(({ name, command: [file, ...args] }) => {
    const { status, stdout } = spawnSync(file, [...args, script], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (status !== 0) throw new Error(`The sample on ${name} ended with ${status}`);
    return { name: name.split(",")[0] ?? name, sample: JSON.parse(stdout) as CipherSample };
  });

function ratioOf({ costs }: CipherSample, by: keyof Cost): number {
  const [ours = [], inline = []] = [costs.product, costs.inline];
  return median(ours.map((cost, round) => cost[by] / (inline[round]?.[by] ?? Number.NaN)));
}

function rate(costs: readonly Cost[] = []): string {
  return Math.round(1_000 / median(costs.map(({ wallMs }) => wallMs))).toLocaleString("en");
}

console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}\n`);
console.log(
  `| runtime | inline MiB/s | product MiB/s | wall ratio | CPU ratio (bar ${ratioMax}) | gap ms | own gap ms (bar ${gapMsMax}) |`,
);
console.log("|---|---|---|---|---|---|---|");
for (const { name, sample } of measured) {
  const { inline, product } = sample.costs;
  const ratios = [ratioOf(sample, "wallMs"), ratioOf(sample, "cpuMs")].map(ratio => ratio.toFixed(2));
  const gaps = [sample.gaps.map(({ gapMs }) => gapMs), sample.gaps.map(({ ownGapMs }) => ownGapMs)].map(all =>
    median(all).toFixed(1),
  );
  figure(
    `export encrypted and encoded to inline node:crypto, ${name}`,
    `${ratios[1]} times the time`,
    `${ratioMax}`,
  );
  console.log(
    `| ${name} | ${rate(inline)} | ${rate(product)} | ${ratios.join(" | ")} | ${gaps.join(" | ")} |`,
  );
}
const alone = Object.keys(measured[0]?.sample.costs ?? {}).filter(way => way.includes(":"));
console.log(`\n| MiB/s | ${alone.join(" | ")} |\n|---|${"---|".repeat(alone.length)}`);
for (const { name, sample } of measured) {
  console.log(`| ${name} | ${alone.map(way => rate(sample.costs[way])).join(" | ")} |`);
}
