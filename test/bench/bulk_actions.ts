/**
 * The cost of actions in bulk: accepting them over HTTP, and applying them.
 *
 *     npm run bench -- bulk_actions [rounds]
 *
 * Requests of 1,000 actions, four at a time, of 5,000 users in turns. Client and server share a process, so that the accept
 * rates include the client's work. A worker applies 20,000 actions that wait, boards included, after as many others to warm up;
 * so do direct reports and the script, by 64 callers. Each sample is a fresh process
 * on an empty server, and each round reverses the order; medians, with all samples in thousands a second.
 *
 * @module
 */

import { redisAvailable, startRedis } from "../support/redis.ts";
import { samples } from "./bulk_actions_samples.ts";
import { figure } from "./figure.ts";
import { sampleInFreshProcess } from "./fresh_process.ts";
import { median } from "./harness.ts";

/** Least that is asked for: actions a second, or a share of another sample's rate. */
const bars: readonly { readonly of: string; readonly least: number; readonly to?: string }[] = [
  { of: "parse and validate", least: 1_000_000 / 1.5 },
  { of: "accept over HTTP, memory", least: 100_000 },
  { of: "accept over HTTP, Redis", least: 0.5, to: "raw pipelined XADD" },
  { of: "one worker, Redis", least: 0.5, to: "dedicated script" },
];

const [mode = "3", name = "", socket = ""] = process.argv.slice(2);
if (mode === "--sample") console.log(await samples.get(name)?.(socket));
else await main(Number(mode));

async function main(rounds: number): Promise<void> {
  const skipped = redisAvailable();
  if (skipped !== false) throw new Error(skipped);
  const server = await startRedis();
  const rows = [...samples.keys()].map(each => ({ name: each, rates: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      await server.flush();
      row.rates.push(await sampleInFreshProcess<number>(import.meta.url, row.name, server.socket));
    }
  }
  await server.kill();
  console.log(`node ${process.version}\n\n| way | actions/s | raw, thousands/s |\n|---|---|---|`);
  const rateOf = (way: string): number => median(rows.find(row => row.name === way)?.rates ?? []);
  for (const { name: way, rates } of rows) {
    const raw = rates.map(rate => (rate / 1_000).toFixed(1)).join(" ");
    console.log(`| ${way} | ${Math.round(median(rates))} | ${raw} |`);
  }
  console.log("");
  for (const { of, least, to } of bars) {
    const reached = rateOf(of) / (to === undefined ? 1 : rateOf(to));
    const shown = (value: number): string => (to === undefined ? `${Math.round(value)}/s` : value.toFixed(2));
    const what = to === undefined ? of : `${of}, to ${to}`;
    figure(`bulk actions: ${what}`, shown(reached), shown(least));
  }
}
