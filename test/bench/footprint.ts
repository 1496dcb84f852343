/**
 * The cost of having Grandstand in a program: processor time of importing it, and size of the bundle of a platform in memory.
 *
 * ```sh
 * npm run bench -- footprint [samples]
 * ```
 */

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "../../runtime/build.ts";
import { embedSize } from "../support/embed_size.ts";
import { figure } from "./figure.ts";

const samples = Number(process.argv[2] ?? 9);
/** Inside node_modules, so that the package finds its dependencies. */
const folder = fileURLToPath(
  new URL(`../../node_modules/.cache/grandstand/footprint-${process.pid}`, import.meta.url),
);

/** Returns the processor time of importing a module in a process of its own, in ms. */
function importMs(file: string): number {
  const program = `
    const before = process.cpuUsage();
    await import(${JSON.stringify(pathToFileURL(file).href)});
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1_000);`;
  return Number(execFileSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" }));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

try {
  mkdirSync(folder, { recursive: true });
  await bundle(folder);
  const empty = `${folder}/empty.js`;
  writeFileSync(empty, "");
  const pairs = Array.from(
    { length: samples },
    () => [importMs(empty), importMs(`${folder}/lib/mod.js`)] as const,
  );
  const [base, whole] = [median(pairs.map(pair => pair[0])), median(pairs.map(pair => pair[1]))];
  console.log(`import: ${whole.toFixed(0)} ms, an empty module ${base.toFixed(0)} ms, of processor time`);
  figure(
    "importing `grandstand` beyond an empty module, processor time",
    `${(whole - base).toFixed(0)} ms`,
    "100 ms",
  );
  const size = await embedSize(folder);
  const [all, start] = [size.whole, size.start].map(bytes => (bytes / 1_000).toFixed(0));
  figure(
    "bundle of a platform in memory, gzip -9: one file; its start, when split",
    `${all} KB; ${start} KB`,
    "230 KB",
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
