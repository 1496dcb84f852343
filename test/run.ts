/**
 * Runs the tests: bundles their files once, so that none of them compiles the sources again, and runs them with
 * `node:test`, a process for each file.
 *
 * ```sh
 * npm test                        # in memory, and on Redis what depends on it
 * npm test -- --full              # every suite on every store, with the full number of random cases, as in CI
 * npm test -- test/lib/storage    # files whose path contains a text
 * ```
 *
 * Ends with the summary of `node:test`, and before it why tests were skipped.
 */

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { sep } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build, type Plugin } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const bundles = `${root}node_modules/.cache/grandstand-tests-${process.pid}`;

/** Longest time that a file may take, in ms: a test that hangs fails. */
const fileMsMax = 600_000;

/** The test files whose path contains one of the texts; all where there is none. */
function testFiles(wanted: readonly string[]): string[] {
  return readdirSync(`${root}test`, { recursive: true, encoding: "utf8" })
    .map(file => `test/${file.split(sep).join("/")}`)
    .filter(file => file.endsWith(".test.ts") && !file.includes("node_modules/"))
    .filter(file => wanted.length === 0 || wanted.some(text => file.includes(text.replace(/^\.\//, ""))))
    .sort();
}

/** Keeps `import.meta.url` the address of the source, where tests look for the files beside them. */
const sourceAddresses: Plugin = {
  name: "source-addresses",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const code = readFileSync(path, "utf8");
      const address = JSON.stringify(pathToFileURL(path).href);
      return { contents: code.replaceAll("import.meta.url", address), loader: "ts" };
    });
  },
};

async function bundle(files: readonly string[]): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [...files],
    outbase: ".",
    outdir: bundles,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    metafile: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    packages: "external",
    sourcemap: true,
    plugins: [sourceAddresses],
    logLevel: "warning",
  });
  return Object.entries(metafile.outputs)
    .filter(([, { entryPoint = "" }]) => entryPoint.endsWith(".test.ts"))
    .map(([output]) => `${root}${output}`)
    .sort();
}

const { values, positionals } = parseArgs({ allowPositionals: true, options: { full: { type: "boolean" } } });
if (values.full) process.env.GRANDSTAND_TEST_FULL = "1";
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --enable-source-maps`.trim();

const files = testFiles(positionals);
if (files.length === 0) throw new Error(`No test file's path contains ${positionals.join(" or ")}`);
const skips = new Map<string, number>();
const reporter = new spec();
let counted = false;

const options = { files: await bundle(files), concurrency: availableParallelism(), timeout: fileMsMax };
for await (const event of run(options)) {
  if (event.type === "test:fail") process.exitCode = 1;
  if (event.type === "test:pass" && event.data.skip !== undefined) {
    const reason = `${event.data.skip}`;
    skips.set(reason, (skips.get(reason) ?? 0) + 1);
  }
  if (
    event.type === "test:diagnostic" &&
    event.data.nesting === 0 &&
    !counted &&
    /^tests \d/.test(event.data.message)
  ) {
    counted = true;
    for (const [reason, count] of skips) process.stdout.write(`skipped ${count}: ${reason}\n`);
  }
  reporter.write(event);
  for (let text = reporter.read(); text !== null; text = reporter.read()) process.stdout.write(text);
}
reporter.end();
rmSync(bundles, { recursive: true, force: true });
for await (const text of reporter) process.stdout.write(text);
