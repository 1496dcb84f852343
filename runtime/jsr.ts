/**
 * Writes the package for JSR into an empty folder: the build for npm, with a `jsr.json` made from `package.json`. JSR takes scripts
 * with declarations; from sources it would infer no types of schemas.
 *
 * ```sh
 * npm run jsr -- <folder>
 * ```
 */

import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as Manifest;

const entries = Object.entries(manifest.exports).flatMap(([name, entry]) =>
  typeof entry === "string" ? [] : [[name, entry.default.replace("./dist/", "./")] as const],
);

function jsrManifest(): object {
  const { name, version, license, dependencies, peerDependencies } = manifest;
  const packages = Object.entries({ ...dependencies, ...peerDependencies });
  return {
    name: `@${name}/${name}`,
    version,
    license,
    exports: Object.fromEntries(entries),
    imports: Object.fromEntries(packages.map(([name, range]) => [name, `npm:${name}@${range}`])),
    compilerOptions: {
      exactOptionalPropertyTypes: true,
      lib: ["deno.ns", "dom", "dom.iterable", "dom.asynciterable", "esnext"],
    },
  };
}

/** Names the declarations of a script in its first line, where Deno finds them. */
function typeEntry(path: string): void {
  const declarations = `./${basename(path, ".js")}.d.ts`;
  writeFileSync(path, `/* @ts-self-types="${declarations}" */\n${readFileSync(path, "utf8")}`);
}

/** Makes declarations import each other: Deno takes a path as it is. */
function linkDeclarations(path: string): void {
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(/((?:from|import) ?\(?")(\.[^"]+)\.ts"/g, '$1$2.d.ts"'));
}

const [given] = process.argv.slice(2);
if (given === undefined) throw new Error("Name an empty folder: npm run jsr -- <folder>");
const folder = resolve(given);
mkdirSync(folder, { recursive: true });
cpSync(`${root}dist`, folder, { recursive: true });
for (const [, script] of entries) typeEntry(join(folder, script));
for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
  if (path.endsWith(".d.ts")) linkDeclarations(join(folder, path));
}
for (const file of ["README.md", "LICENSE"]) cpSync(root + file, join(folder, file));
writeFileSync(join(folder, "jsr.json"), `${JSON.stringify(jsrManifest(), null, 2)}\n`);
