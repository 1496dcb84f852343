/**
 * Runs the tests: bundles their files once, so that none of them compiles the sources again, and runs them with
 * `node:test`. Short files share processes, as starting one and warming up its code takes longer than most files do.
 *
 * ```sh
 * npm test                        # in memory, and on Redis what depends on it
 * npm test -- --full              # on Redis and PostgreSQL, and on every runtime, as in CI
 * npm test -- --long              # every suite on every store, with every random case, before a release
 * npm test -- --slow              # with stores in memory as slow as a busy database, to find tests that count on their haste
 * npm test -- test/lib/storage    # files whose path contains a text
 * npm test -- --mutant NAME …     # with a fault of test/mutants/faults.ts planted, until a test finds it
 * ```
 *
 * Ends with the summary of `node:test`, and before it why tests were skipped.
 */

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build, type Plugin } from "esbuild";
import { bundle as bundlePackage } from "../runtime/build.ts";
import { mutants } from "./mutants/faults.ts";
import { mutated } from "./support/mutation.ts";
import { postgresAvailable, startForRun } from "./support/postgres.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const bundles = `${root}node_modules/.cache/grandstand-tests-${process.pid}`;

/** Longest time that a process may take, in ms: a test that hangs fails. */
const processMsMax = 900_000;
/** Time after which a test or suite that has not ended is named, in ms. */
const namedAfterMs = 300_000;
/** Most files that share a process. */
const sharingMax = 20;
/** Most of those that start programs and servers, which they wait for. */
const startingMax = 6;
/** Files that start neither programs nor servers of the runtimes. */
const sharing =
  /^test\/(?:lib|http|repo|adapters\/(?!redis|postgres)|runtime\/(?:capacity|config|kubernetes|log_sink|periodic_work|reference|seed)\.)/;
/** The longest files, longest first: each has a process of its own, and they start before the others. */
const longest: readonly string[] = [
  "test/season/season.test.ts",
  "test/http/tenants.test.ts",
  "test/simulation/simulation.test.ts",
  "test/lib/fans/loyalty/products/crashes.test.ts",
  "test/lib/fans/exports/crashes.test.ts",
  "test/lib/fans/loyalty/model/surface.test.ts",
  "test/runtime/http.test.ts",
  "test/http/fuzz.test.ts",
  "test/http/hostile_input.test.ts",
  "test/http/bad_input.test.ts",
  "test/lib/fans/loyalty/convergence.test.ts",
  "test/runtime/openapi_client.test.ts",
  "test/lib/fans/audience/worker/killed_workers.test.ts",
  "test/http/cli_manifest_random.test.ts",
  "test/http/cli_settings.test.ts",
  "test/http/cli_table.test.ts",
  "test/http/events_model.test.ts",
];

/** The test files whose path contains one of the texts; all where there is none. */
function testFiles(wanted: readonly string[]): string[] {
  return filesIn("test")
    .filter(file => file.endsWith(".test.ts"))
    .filter(file => wanted.length === 0 || wanted.some(text => file.includes(text.replace(/^\.\//, ""))))
    .sort();
}

/** The files below a folder, but for the many that are installed there. */
function filesIn(folder: string): string[] {
  return readdirSync(root + folder, { withFileTypes: true }).flatMap(each => {
    const path = `${folder}/${each.name}`;
    if (!each.isDirectory()) return [path];
    return each.name === "node_modules" ? [] : filesIn(path);
  });
}

/**
 * Keeps `import.meta.url` the address of the source, where tests look for the files beside them, and plants the fault that
 * the run is asked for.
 */
const sources: Plugin = {
  name: "sources",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/, namespace: "file" }, ({ path }) => {
      const isFaulty = mutant !== undefined && path === root + mutant.file;
      const code = isFaulty ? mutated(mutant) : readFileSync(path, "utf8");
      const address = JSON.stringify(pathToFileURL(path).href);
      return { contents: code.replaceAll("import.meta.url", address), loader: "ts" };
    });
  },
};

/** Returns the files of each process, the longest first. Neighbours share one, those that wait for programs the fewest. */
function processesOf(files: readonly string[]): readonly (readonly string[])[] {
  const alone = longest.filter(file => files.includes(file)).map(file => [file]);
  // Built and packed once for all of them.
  const packed = files.filter(file => /^test\/runtime\/(?:pack|jsr|guides)\./.test(file));
  const browser = files.filter(file => file.startsWith("test/browser/"));
  // Two browsers for all of them: one for what the studio shows.
  const ofStudio = (file: string): boolean => file.startsWith("test/browser/studio");
  const browsers = [browser.filter(ofStudio), browser.filter(file => !ofStudio(file))];
  const starting: string[][] = [];
  const shared: string[][] = [];
  for (const file of files) {
    if ([...longest, ...packed, ...browser].includes(file)) continue;
    const [groups, most] = sharing.test(file) ? [shared, sharingMax] : [starting, startingMax];
    if ((groups.at(-1)?.length ?? most) < most) groups.at(-1)?.push(file);
    else groups.push([file]);
  }
  return [...browsers, packed, ...alone, ...starting, ...shared].filter(some => some.length > 0);
}

/** Bundles the files of each process, and returns the paths of the bundles. */
async function bundle(processes: readonly (readonly string[])[]): Promise<string[]> {
  const entries = new Map(processes.map(files => [`entry:${files[0]}`, files]));
  const entryFiles: Plugin = {
    name: "entry-files",
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^entry:/ }, ({ path }) => ({ path, namespace: "entry" }));
      onLoad({ filter: /^entry:/, namespace: "entry" }, ({ path }) => {
        const imports = (entries.get(path) ?? []).map(file => `import ${JSON.stringify(file)};`);
        return { contents: imports.join("\n") };
      });
      // The package says that its files have no side effects, which is not true of tests.
      onResolve({ filter: /^test\//, namespace: "entry" }, ({ path }) => ({
        path: root + path,
        sideEffects: true,
      }));
    },
  };
  const nameOf = (file = ""): string => file.replace(/\.ts$/, "");
  await build({
    absWorkingDir: root,
    entryPoints: processes.map(([file]) => ({ in: `entry:${file}`, out: nameOf(file) })),
    outdir: bundles,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    packages: "external",
    sourcemap: true,
    plugins: [sources, entryFiles],
    logLevel: "warning",
  });
  return processes.map(([file]) => `${bundles}/${nameOf(file)}.mjs`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    full: { type: "boolean" },
    long: { type: "boolean" },
    slow: { type: "boolean" },
    mutant: { type: "string" },
  },
});
if (values.full) process.env.TEST_FULL = "1";
if (values.long) process.env.TEST_FULL = "long";
if (values.slow) process.env.TEST_SLOW = "1";
// Test processes need no compiler; a larger young generation, as tests leave much behind that is soon garbage.
const hooks = `${root}test/support/quick_node_test.cjs`;
process.execArgv = ["--require", hooks, "--enable-source-maps", "--max-semi-space-size=64"];

const mutant = values.mutant === undefined ? undefined : mutants.find(({ name }) => name === values.mutant);
if (values.mutant !== undefined && mutant === undefined)
  throw new Error(`There is no mutant: ${values.mutant}`);
const files = testFiles(positionals);
if (files.length === 0) throw new Error(`No test file's path contains ${positionals.join(" or ")}`);
if (files.some(file => file.startsWith("test/runtime/"))) {
  // Built once for all files that start the command-line program.
  process.env.GRANDSTAND_TEST_DIST = `${bundles}/dist`;
  await bundlePackage(process.env.GRANDSTAND_TEST_DIST);
  // As in the package; without a type Node reads each file twice.
  const manifest = JSON.stringify({ type: "module", sideEffects: false });
  writeFileSync(`${process.env.GRANDSTAND_TEST_DIST}/package.json`, manifest);
}
// Started once for all stores on PostgreSQL, each of which has a schema or a prefix of its own.
const postgres = values.full || values.long ? postgresAvailable() === false && (await startForRun()) : false;
const skips = new Map<string, number>();
/** Names those that take too long, as a process that hangs tells no more than its first file. */
const underWay = new Map<string, NodeJS.Timeout>();
const reporter = new spec();
let counted = false;

/** Ends the run once a test has found the mutant. */
const stop = new AbortController();
const options = {
  files: await bundle(processesOf(files)),
  // One more than there are cores, as some tests wait for programs, browsers and databases.
  concurrency: availableParallelism() + 1,
  timeout: processMsMax,
  signal: stop.signal,
};
for await (const event of run(options)) {
  if (event.type === "test:fail") process.exitCode = 1;
  if (event.type === "test:dequeue" || event.type === "test:complete") {
    const { name, file = "", line } = event.data;
    const place = `${file.replace(root, "")}:${line} ${name}`;
    clearTimeout(underWay.get(place));
    const tell = (): void => void process.stdout.write(`has not ended after ${namedAfterMs} ms: ${place}\n`);
    if (event.type === "test:dequeue") underWay.set(place, setTimeout(tell, namedAfterMs).unref());
    else underWay.delete(place);
  }
  if (event.type === "test:fail" && mutant !== undefined && !stop.signal.aborted) {
    process.stdout.write(`found by: ${event.data.name}\n`);
    stop.abort();
  }
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
if (postgres) await postgres.kill();
rmSync(bundles, { recursive: true, force: true });
for await (const text of reporter) process.stdout.write(text);
