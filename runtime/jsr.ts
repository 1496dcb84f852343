/**
 * Writes the package for JSR into an empty folder: sources, and a `jsr.json` made from `package.json`.
 *
 * ```sh
 * npm run jsr -- <folder>
 * ```
 */

import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * The entries that JSR takes: it makes declarations from what the source says without inference. The others export schemas,
 * whose types are inferred; Deno has them from npm.
 */
const entries: readonly string[] = [
  "./client",
  "./storage",
  "./export-file",
  "./memory",
  "./file",
  "./redis",
  "./s3",
  "./geo",
  "./mail",
  "./outbound",
  "./webhook",
  "./native",
  "./conformance",
];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, { readonly default: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

function jsrManifest(): object {
  const { name, version, license, ...manifest } = JSON.parse(
    readFileSync(`${root}package.json`, "utf8"),
  ) as Manifest;
  const sourceOf = (entry: string): string =>
    manifest.exports[entry]?.default.replace("./dist/", "./").replace(/\.js$/, ".ts") ?? "";
  const packages = Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies });
  return {
    name: `@${name}/${name}`,
    version,
    license,
    exports: Object.fromEntries(entries.map(entry => [entry, sourceOf(entry)])),
    imports: Object.fromEntries(packages.map(([name, range]) => [name, `npm:${name}@${range}`])),
    compilerOptions: {
      exactOptionalPropertyTypes: true,
      lib: ["deno.ns", "dom", "dom.iterable", "dom.asynciterable", "esnext"],
    },
  };
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name an empty folder: npm run jsr -- <folder>");
mkdirSync(folder, { recursive: true });
for (const part of ["lib", "adapters"]) {
  const filter = (path: string): boolean => ["", ".ts"].includes(extname(path));
  cpSync(root + part, `${folder}/${part}`, { recursive: true, filter });
}
for (const file of ["README.md", "LICENSE"]) cpSync(root + file, `${folder}/${file}`);
writeFileSync(`${folder}/jsr.json`, `${JSON.stringify(jsrManifest(), null, 2)}\n`);
