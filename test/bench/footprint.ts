/**
 * The cost of having Grandstand in a program: processor time of importing it, and size of the bundle of a platform in memory.
 *
 * ```sh
 * npm run bench -- footprint [samples]
 * ```
 */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { bundle } from "../../runtime/build.ts";
import { embedSize, importMs } from "../support/embed_size.ts";
import { figure } from "./figure.ts";

const samples = Number(process.argv[2] ?? 9);
/** Inside node_modules, so that the package finds its dependencies. */
const folder = fileURLToPath(
  new URL(`../../node_modules/.cache/grandstand/footprint-${process.pid}`, import.meta.url),
);

try {
  mkdirSync(folder, { recursive: true });
  await bundle(folder);
  // As in the package; without a type Node reads each file twice.
  writeFileSync(`${folder}/package.json`, JSON.stringify({ type: "module", sideEffects: false }));
  const { base, whole } = importMs(folder, samples);
  console.log(`import: ${whole.toFixed(0)} ms, an empty module ${base.toFixed(0)} ms, of processor time`);
  figure(
    "importing `grandstand` beyond an empty module, processor time",
    `${(whole - base).toFixed(0)} ms`,
    "80 ms",
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
