/** Bundles the simulation, with or without changes to the source, into a file that any process can import. */

import { mkdirSync, mkdtempSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { type Mutation, mutated } from "../support/mutation.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Makes a folder for bundles. It is inside of the project, so that they find the packages that they import. */
export function makeBundleFolder(): string {
  const cache = `${root}node_modules/.cache/grandstand/`;
  mkdirSync(cache, { recursive: true });
  return mkdtempSync(`${cache}simulation-`);
}

/**
 * Bundles the simulation into a file. The working tree stays as it is.
 *
 * @throws {Error} The text of the mutation is not in its file exactly once.
 */
export async function bundleSimulation(outfile: string, mutation?: Mutation): Promise<void> {
  if (mutation !== undefined) mutated(mutation);
  await build({
    absWorkingDir: root,
    entryPoints: ["test/simulation/simulate.ts"],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    packages: "external",
    sourcemap: "inline",
    plugins: mutation === undefined ? [] : [mutates(mutation)],
    logLevel: "warning",
  });
}

function mutates(mutation: Mutation): Plugin {
  return {
    name: "mutation",
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) =>
        path === root + mutation.file ? { contents: mutated(mutation), loader: "ts" } : undefined,
      );
    },
  };
}
