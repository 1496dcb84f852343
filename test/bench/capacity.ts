/**
 * The capacity plan: measures the cost of each operation alone, forecasts from it what whole shows use, plays them at three sizes,
 * and prints by how much the forecast was wrong. Last, it prints what larger shows need.
 *
 *     npm run bench -- capacity [--sizes 2000,4000,10000] [--rate 700] [--sample 10000] [--write]
 *
 * `--write` puts the tables into `runtime/CAPACITY.md`, which `npm run format` then aligns. Processor times are those of the kernel's counters. They too grow on a busy
 * machine, whose processes displace each other from caches.
 *
 * @module
 */

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { measureCosts } from "./capacity/costs.ts";
import { countsOf, forecast } from "./capacity/forecast.ts";
import type { Costs } from "./capacity/operations.ts";
import type { Resource } from "./capacity/resources.ts";
import {
  type Check,
  checksTable,
  costsTable,
  errorOf,
  needsTable,
  readCosts,
  withTable,
} from "./capacity/tables.ts";
import { World } from "./capacity/world.ts";
import { figure } from "./figure.ts";
import { createPlan } from "./live_final/plan.ts";
import { reasons } from "./live_final/report.ts";

const { values } = parseArgs({
  options: {
    sizes: { type: "string", default: "2000,4000,10000" },
    rate: { type: "string", default: "700" },
    write: { type: "boolean", default: false },
    sample: { type: "string", default: "10000" },
  },
});
const rate = Number(values.rate);
/** Listeners for each fan, as in the live final. */
const listenersPerFan = 0.02;

/** Plays a show and returns what it used, and what was forecast. */
async function play(costs: Costs, fans: number): Promise<Check> {
  const world = await World.open();
  try {
    const plan = createPlan(fans, 1_000, 1);
    const durationMs = (plan.at.length / rate) * 1_000;
    const crowd = world.crowd(createPlan(fans, durationMs, 1));
    const listeners = Math.round(fans * listenersPerFan);
    await world.listen(listeners);
    const before = world.listeners.messages;
    const { usage, seconds } = await world.use(() => world.moveLeaders(world.play(crowd)));
    const messages = world.listeners.messages - before;
    console.log(
      `${fans} fans: ${plan.at.length} steps, ${messages} messages in ${seconds.toFixed(0)} s, repeated: ${reasons(world.measures)}`,
    );
    const counts = countsOf(plan, messages);
    return { fans, forecast: forecast(costs, counts, seconds), measured: usage };
  } finally {
    await world.close();
  }
}

const costs = await measureCosts(Number(values.sample), rate);
console.log(costsTable(costs));
const checks: Check[] = [];
for (const fans of values.sizes.split(",").map(Number)) checks.push(await play(costs, fans));
const shown = costsTable(costs);
// From the rounded costs, so that readers come to the same figures.
const tables = { costs: shown, checks: checksTable(checks), needs: needsTable(readCosts(shown)) };
console.log(`\n${tables.checks}\n\n${tables.needs}`);
if (values.write) {
  const file = new URL("../../runtime/CAPACITY.md", import.meta.url);
  let text = readFileSync(file, "utf8");
  for (const [name, table] of Object.entries(tables)) text = withTable(text, name, table);
  writeFileSync(file, text);
}
const worst = (name: Resource): string =>
  `${(Math.max(...checks.map(check => Math.abs(errorOf(check, name)))) * 100).toFixed(0)} %`;
figure(
  `forecast of shows of ${values.sizes} fans from costs of single operations, largest error: processor of servers, of Redis, memory of Redis, commands`,
  [worst("serverMs"), worst("redisMs"), worst("redisBytes"), worst("redisCommands")].join(", "),
  "25 %",
);
process.exit();
