/** Files and imports for the structural tests. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Path of the repository, with a slash at its end. */
export const root: string = fileURLToPath(new URL("../../", import.meta.url));

/** Files that are tracked or about to be, relative to the repository. */
export const files: readonly string[] = execFileSync(
  "git",
  ["-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"],
  { cwd: root, encoding: "utf8" },
)
  .split("\n")
  .filter(file => file !== "" && readText(file) !== null);

/** The product's own modules: everything but tests. */
export const sources: readonly string[] = files.filter(file => /^(lib|adapters|runtime)\/.*\.ts$/.test(file));

/** Every TypeScript file. */
export const modules: readonly string[] = files.filter(file => file.endsWith(".ts"));

/** A file's text; null where it is gone. */
export function readText(file: string): string | null {
  try {
    return readFileSync(root + file, "utf8");
  } catch {
    return null;
  }
}

/** A file's text. */
export function textOf(file: string): string {
  return readText(file) ?? "";
}

/** The specifiers that a module imports or exports from, without comments. */
export function importsOf(file: string): readonly string[] {
  const code = withoutComments(textOf(file));
  const pattern =
    /(?:^|[\n;}])\s*(?:import|export)\b[^;"'`]*?from\s*"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)|^import\s*"([^"]+)"/gm;
  return [...code.matchAll(pattern)].map(([, from, dynamic, bare]) => from ?? dynamic ?? bare ?? "");
}

/** Code without block and line comments; good enough for files in which no string holds a comment's beginning. */
export function withoutComments(code: string): string {
  return code.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");
}
