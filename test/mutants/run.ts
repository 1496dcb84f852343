/**
 * Plants each mistake of `faults.ts` and runs its tests, which must fail. The working tree stays as it is.
 *
 * ```sh
 * npm run mutants                # all
 * npm run mutants -- streak      # those whose names contain a text
 * ```
 */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { mutants } from "./faults.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const [wanted = ""] = process.argv.slice(2);
const planted = mutants.filter(({ name }) => name.includes(wanted));
const survivors: string[] = [];
for (const { name, tests } of planted) {
  const run = ["--import", "tsx", "test/run.ts", "--mutant", name, ...tests];
  const { status, stdout } = spawnSync(process.execPath, run, { cwd: root, encoding: "utf8" });
  const found = /^found by: (.*)$/m.exec(stdout)?.[1];
  if (status === 0 || found === undefined) survivors.push(name);
  process.stdout.write(
    `${found === undefined ? "SURVIVES" : "found"}: ${name}${found === undefined ? "" : ` (${found})`}\n`,
  );
}
process.stdout.write(`${planted.length - survivors.length} of ${planted.length} found\n`);
if (survivors.length > 0) process.exitCode = 1;
