/**
 * Runs benchmarks by name.
 *
 * ```sh
 * npm run bench                          # their names
 * npm run bench -- report_action         # one of them, as the table of README.md has it
 * npm run bench -- report_action 5       # with arguments of its own
 * npm run bench -- all                   # every one, and the table at the end: about an hour and a quarter on a quiet machine
 * ```
 *
 * @module
 */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

interface Benchmark {
  readonly name: string;
  readonly args: readonly string[];
}

/** Every benchmark, with the arguments that the table is made with. */
const benchmarks: readonly Benchmark[] = [
  "http_bridge",
  "http_stack 3",
  "instruments 5",
  "control 3",
  "feeds 3",
  "control_lists 3",
  "control_writes",
  "event_loop",
  "elements_apply",
  "workflow_turn 3",
  "workflow_polls",
  "login",
  "sessions",
  "tokens",
  "passwords",
  "limiter",
  "decide",
  "redis commit",
  "redis standing",
  "postgres",
  "rules",
  "report_action 3",
  "reveal",
  "bulk_actions 3",
  "bulk_end_to_end 3",
  "batched_profiles",
  "redeem",
  "board 1000000",
  "hot_board",
  "board_http",
  "live",
  "live --store redis",
  "live_final",
  "live_final --fans 10000 --minutes 2.5 --store postgres",
  "capacity",
  "rank_10m",
  "season_removal",
  "season --fans 10000 --matchdays 2",
  "search",
  "search redis 100000",
  "exports 100000 memory",
  "exports 1000000 Redis",
  "import",
  "export_cipher",
  "geo",
  "show_page 9",
  "studio_page",
  "hall",
  "footprint",
  "cli_start",
].map(line => {
  const [name = "", ...args] = line.split(" ");
  return { name, args };
});

/** Runs a benchmark, prints what it prints, and returns its rows of the table. */
async function run({ name, args }: Benchmark): Promise<string[]> {
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", file, ...args], {
    // All runtimes, which tests start in a full run alone. Not a GRANDSTAND_ name: servers refuse those that they do not know.
    env: { ...process.env, TEST_FULL: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const rows: string[] = [];
  const command = `npm run bench -- ${[name, ...args].join(" ")}`;
  console.log(`\n## ${command}\n`);
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("= ")) rows.push(`| ${line.slice(2)} | \`${[name, ...args].join(" ")}\` |`);
    else console.log(line);
  }
  if (child.exitCode !== 0) process.exitCode = 1;
  return rows;
}

function print(rows: readonly string[]): void {
  if (rows.length === 0) return;
  console.log(`\n${process.version}, ${new Date().toISOString().slice(0, 10)}\n`);
  console.log(["| what | measured | bar | benchmark |", "| --- | --- | --- | --- |", ...rows].join("\n"));
}

const [wanted, ...args] = process.argv.slice(2);
const named = benchmarks.filter(({ name }) => name === wanted);
if (wanted === "all") {
  const rows: string[] = [];
  for (const benchmark of benchmarks) rows.push(...(await run(benchmark)));
  print(rows);
} else if (named.length > 0 && wanted !== undefined) {
  for (const benchmark of args.length > 0 ? [{ name: wanted, args }] : named) print(await run(benchmark));
} else {
  console.log(benchmarks.map(({ name, args }) => [name, ...args].join(" ")).join("\n"));
  if (wanted !== undefined) process.exitCode = 2;
}
