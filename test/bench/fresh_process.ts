/** Samples taken in processes of their own, so that none inherits the heap or the optimised code of another. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { bundleForBench } from "./harness.ts";

const bundles = new Map<string, Promise<string>>();

/**
 * Runs a benchmark file again, bundled as the package is, with `--sample` and the given words, and reads the JSON that it
 * prints.
 *
 * @throws {Error} The process failed.
 */
export async function sampleInFreshProcess<T>(file: string, ...words: readonly string[]): Promise<T> {
  const bundle = bundles.get(file) ?? bundleForBench(fileURLToPath(file));
  bundles.set(file, bundle);
  const args = [await bundle, "--sample", ...words];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", chunk => {
    printed += chunk;
  });
  const code = await new Promise(resolve => child.once("close", resolve));
  if (code !== 0) throw new Error(`Cannot measure ${words[0]}: the process ended with ${code}`);
  return JSON.parse(printed);
}
