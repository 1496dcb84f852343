/** Files and imports for the structural tests. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { posix } from "node:path";
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
export const sources: readonly string[] = files.filter(file =>
  /^(lib|adapters|runtime)\/.*\.tsx?$/.test(file),
);

/** Every TypeScript file. */
export const modules: readonly string[] = files.filter(file => /\.tsx?$/.test(file));

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

/** What the entries of the package export, as `file#name` of the declaration. */
export const entryExports: ReadonlySet<string> = new Set(
  entryModules().flatMap(file => [...exportsOf(file)]),
);

function entryModules(): string[] {
  const { exports } = JSON.parse(textOf("package.json")) as { exports: Record<string, { types?: string }> };
  return Object.values(exports).flatMap(({ types }) =>
    types === undefined ? [] : [types.replace("./dist/", "").replace(/\.d\.ts$/, ".ts")],
  );
}

/** Follows re-exports to the file that declares each name; only those called `name` where it is given. */
function exportsOf(file: string, name?: string): string[] {
  const text = textOf(file);
  const own = [...text.matchAll(/^export (?:async )?(?:function\*?|class|interface|type|const) (\w+)/gm)].map(
    ([, declared = ""]) => declared,
  );
  const passed = [...text.matchAll(/^export (?:type )?(\*|\{[^}]*\}) from "(\.[^"]+)"/gm)].flatMap(
    ([, names = "", specifier = ""]) => {
      const target = posix.join(posix.dirname(file), specifier);
      if (names === "*") return exportsOf(target, name);
      return names
        .slice(1, -1)
        .split(",")
        .map(each =>
          each
            .trim()
            .replace(/^type /, "")
            .split(" as "),
        )
        .filter(([from = "", to = from]) => from !== "" && (name === undefined || name === to))
        .flatMap(([from = ""]) => exportsOf(target, from));
    },
  );
  const declared = own.filter(each => name === undefined || each === name).map(each => `${file}#${each}`);
  return [...declared, ...passed];
}
