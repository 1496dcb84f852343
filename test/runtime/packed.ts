/** The package as npm makes it, once for all files of a process: the build of the run is in `dist`, with its declarations. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { declare } from "../../runtime/build.ts";
import { builtPackage } from "./runtimes.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
let packed: Promise<string> | undefined;

/** Returns the path of the archive. */
export function packedPackage(): Promise<string> {
  packed ??= pack();
  return packed;
}

async function pack(): Promise<string> {
  rmSync(`${root}dist`, { recursive: true, force: true });
  cpSync(builtPackage(), `${root}dist`, { recursive: true });
  rmSync(`${root}dist/package.json`);
  await declare("dist");
  const folder = mkdtempSync(join(tmpdir(), "grandstand-packed-"));
  process.once("exit", () => rmSync(folder, { recursive: true }));
  const args = ["pack", "--ignore-scripts", "--json", "--silent", "--pack-destination", folder];
  const { status, stdout, stderr } = spawnSync("npm", args, { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, stderr + stdout);
  const [{ filename }] = JSON.parse(stdout.replace(/^[^[]*/, "")) as [{ filename: string }];
  return join(folder, filename);
}

/** Where a compiler finds the declarations of the built package by the names of its entries. */
export async function declarationPaths(): Promise<Readonly<Record<string, readonly string[]>>> {
  await packedPackage();
  const { exports } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return Object.fromEntries(
    Object.entries(exports).flatMap(([name, entry]) =>
      typeof entry === "string" ? [] : [[name.replace(/^\./, "grandstand"), [join(root, entry.types)]]],
    ),
  );
}
