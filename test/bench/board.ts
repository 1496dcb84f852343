/**
 * The board beside a sorted array and a skip list: rates, memory and the longest single operation.
 *
 * ```sh
 * npm run bench -- board            # up to 100,000 members, half a minute on a quiet core
 * npm run bench -- board 1000000    # up to a million, a minute and a half
 * ```
 *
 * Members are UUIDs, scores uniform integers below 2^20, ties ever new stamps. Every sample is a fresh process; rounds
 * interleave the variants and reverse their order. Rates are per second of processor time, the longest operation by the
 * clock on the wall, in which other processes of the machine show.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { BoardSample } from "./board_sample.ts";
import { figure } from "./figure.ts";
import { bundleForBench, median } from "./harness.ts";

interface Row {
  readonly kind: string;
  readonly members: number;
  readonly samples: BoardSample[];
}

const membersMax = Number(process.argv[2] ?? 100_000);
const rounds = 3;
const bars = { update: "300,000/s", rank: "700,000/s" } as const;
/** Measured operations of each kind, fewer where each takes tens of microseconds. */
const operations = { board: 200_000, other: 40_000 };
/** Beyond this the others would only make one wait. */
const otherMembersMax = 10_000;

const script = await bundleForBench(fileURLToPath(new URL("./board_sample.ts", import.meta.url)));
const sizes = [10_000, 100_000, 1_000_000, 10_000_000].filter(size => size <= membersMax);
const rows: Row[] = sizes.flatMap(members => [
  { kind: "board", members, samples: [] },
  ...(members > otherMembersMax
    ? []
    : ["skip list", "sorted array"].map(kind => ({ kind, members, samples: [] }))),
]);
for (let round = 0; round < rounds; round++) {
  for (const row of round % 2 === 0 ? rows : rows.toReversed()) row.samples.push(sample(row));
}
print("medians", rows, median);
print("raw values", rows, values => values.map(count).join(" "));
printGrowth();

function sample({ kind, members }: Row): BoardSample {
  const args = [
    script,
    kind,
    String(members),
    String(kind === "board" ? operations.board : operations.other),
  ];
  const { status, stdout } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`The sample of ${kind} ended with ${status}`);
  return JSON.parse(stdout);
}

function print(title: string, all: readonly Row[], summary: (values: number[]) => number | string): void {
  const columns = ["insert", "update", "nudge", "rank", "top", "bytes", "longestCpuMs", "longestMs"] as const;
  console.log(
    `\n| ${title} | insert/s | update/s | +1..16/s | rank/s | top 10/s | bytes/member | longest op, CPU ms | longest op, wall ms |`,
  );
  console.log("|---|---|---|---|---|---|---|---|---|");
  for (const { kind, members, samples } of all) {
    const cells = columns.map(column => {
      const value = summary(samples.map(one => one[column]));
      return typeof value === "number" ? count(value) : value;
    });
    console.log(`| ${kind}, ${count(members)} | ${cells.join(" | ")} |`);
  }
}

/** Cost of an operation on the largest board, relative to the smallest. */
function printGrowth(): void {
  const boards = rows.filter(row => row.kind === "board");
  const [small, large] = [boards[0], boards.at(-1)];
  if (small === undefined || large === undefined || small === large) return;
  for (const column of ["insert", "update", "nudge", "rank", "top"] as const) {
    const of = (row: Row): number => median(row.samples.map(one => one[column]));
    const times = (of(small) / of(large)).toFixed(2);
    if (column === "update" || column === "rank") {
      figure(
        `board in memory, ${count(large.members)} members: ${column}`,
        `${count(of(large))}/s`,
        bars[column],
      );
      figure(`the same, dearer than with ${count(small.members)}`, `${times} times`, "3");
    }
    console.log(
      `${column}: ${times}x as dear with ${count(large.members)} members as with ${count(small.members)}`,
    );
  }
}

function count(value: number): string {
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString("en");
}
