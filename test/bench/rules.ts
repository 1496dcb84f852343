/**
 * Rules engines side by side: how many actions a second each finds the missions for, of the same 150.
 *
 *     npm run bench -- rules [rounds]
 *
 * Every sample is a fresh process; rounds interleave the engines and reverse their order. Rates are per second of processor
 * time, so that neighbours on the machine matter less. All engines must find the same missions. "The whole decision" is
 * not evaluation alone: it makes the user's next state, history and notifications, too.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { figure } from "./figure.ts";
import { bundleForBench, median } from "./harness.ts";
import { type RulesSample, variantNames } from "./rules_sample.ts";

const measureMs = 1_000;
/** Goals of evaluation: actions a second, times json-rules-engine, and the largest slowdown by other rules. */
const bars = { perSecondMin: 1_000_000, timesMin: 500, crowdedShareMin: 0.9 };

interface Row {
  readonly name: string;
  readonly samples: RulesSample[];
}

const [rounds = "5"] = process.argv.slice(2);
const program = await bundleForBench(fileURLToPath(new URL("rules_sample.ts", import.meta.url)));
const rows = variantNames.map((name): Row => ({ name, samples: [] }));
for (let round = 0; round < Number(rounds); round++) {
  for (const row of round % 2 === 0 ? rows : rows.toReversed()) row.samples.push(sample(row.name));
}
print();

function sample(name: string): RulesSample {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [program, "--sample", name, String(measureMs)],
    {
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(`The sample of ${name} failed: ${stderr}`);
  return JSON.parse(stdout) as RulesSample;
}

function print(): void {
  const hits = new Set(rows.flatMap(({ samples }) => samples.map(each => each.hits)));
  if (hits.size !== 1) throw new Error(`The engines found different missions: ${[...hits].join(", ")}`);
  const baseline = rateOf("json-rules-engine");
  console.log("| engine | actions/s per core | times json-rules-engine | raw, thousands/s |");
  console.log("|---|---|---|---|");
  for (const { name, samples } of rows) {
    const raw = samples
      .map(({ perSecond }) => (perSecond / 1_000).toFixed(perSecond < 1e5 ? 2 : 0))
      .join(" ");
    const rate = rateOf(name);
    console.log(
      `| ${name} | ${Math.round(rate).toLocaleString("en")} | ${(rate / baseline).toFixed(0)} | ${raw} |`,
    );
  }
  const grandstandRate = rateOf("Grandstand");
  const crowdedShare = rateOf("Grandstand with 1,500 unrelated rules more") / grandstandRate;
  console.log(`\nMissions found by every engine: ${[...hits].join()}`);
  const shown = (value: number): string => Math.round(value).toLocaleString("en");
  figure(
    "actions decided by 150 missions of two conditions, per core",
    `${shown(grandstandRate)}/s`,
    `${shown(bars.perSecondMin)}/s`,
  );
  figure(
    "the same to json-rules-engine",
    `${shown(grandstandRate / baseline)} times`,
    `${shown(bars.timesMin)} times`,
  );
  figure("the same with 1,500 unrelated rules more", crowdedShare.toFixed(2), `${bars.crowdedShareMin}`);
}

function rateOf(name: string): number {
  const samples = rows.find(row => row.name === name)?.samples ?? [];
  return median(samples.map(({ perSecond }) => perSecond));
}
