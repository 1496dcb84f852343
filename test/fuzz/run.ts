/**
 * Runs parsers on random texts until the time is up, and prints what breaks them.
 *
 * ```sh
 * npm run fuzz                    # every parser, a minute in all
 * npm run fuzz -- 600 conditions  # parsers whose name has the text, for ten minutes
 * ```
 */

import { checkGrowth, fuzz } from "./_run.ts";
import { targets } from "./_targets.ts";

const [seconds = "60", wanted = ""] = process.argv.slice(2);
const chosen = targets.filter(({ name }) => name.includes(wanted));
if (chosen.length === 0)
  throw new Error(`No parser's name has ${wanted}: ${targets.map(({ name }) => name).join(", ")}`);

const casesOfRound = 2_000;
const end = Date.now() + Number(seconds) * 1_000;
const failed = new Set<string>();
let rounds = 0;
for (const target of chosen) {
  await checkGrowth(target, 3).catch(report(target.name));
}
for (let seed = Date.now() % 1_000_000_000; Date.now() < end; seed++) {
  for (const target of chosen) {
    if (!failed.has(target.name)) await fuzz(target, seed, casesOfRound).catch(report(target.name));
  }
  rounds++;
}
console.log(
  `${chosen.length} parsers, ${(rounds * casesOfRound).toLocaleString("en")} texts each, ${failed.size} failed`,
);
process.exitCode = failed.size === 0 ? 0 : 1;

function report(name: string) {
  return (error: unknown): void => {
    failed.add(name);
    console.error(`${name}: ${error instanceof Error ? error.message : error}\n`);
  };
}
