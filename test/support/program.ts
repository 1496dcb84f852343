/** Programs that tests start: bundled, as their start would take seconds to compile the sources. */

import { existsSync, rmSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Inside node_modules, so that the bundles find the dependencies; one for each process, because test files run at once. */
const bundles = `${root}node_modules/.cache/grandstand/test-${process.pid}`;
process.once("exit", () => rmSync(bundles, { recursive: true, force: true }));

/** Returns the path of a program's bundle, which the first call makes. */
export function bundledProgram(source: URL): string {
  const outfile = `${bundles}/${basename(source.pathname, ".ts")}.mjs`;
  if (!existsSync(outfile))
    buildSync({
      entryPoints: [fileURLToPath(source)],
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      packages: "external",
      logLevel: "warning",
    });
  return outfile;
}
