/**
 * Compares servers by the processor time that one request costs them.
 *
 * All variants run at once, each in a process of its own pinned to one core, and the load generator on another core
 * turns to one after the other. Each round reverses the order of the last, and ratios are taken within a round, so
 * that drift of the machine falls on all variants alike. Every repeat starts fresh processes.
 * Compare ratios and medians of one run; requests per second follow the machine's mood.
 *
 * @module
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** One server under test: a command that prints a line with its `http://…` address on stdout once it listens. */
export interface Variant {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly env?: Readonly<Record<string, string>>;
}

/** The requests that `wrk` repeats. */
export interface Load {
  readonly path: string;
  /** @default "GET" */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A complete `request = function() … end` in Lua, where requests differ from each other. */
  readonly lua?: string;
}

/** Duration and load. */
export interface RunOptions {
  /** Number of times that all servers are started anew. @default 2 */
  readonly repeats?: number;
  /** Samples of every variant per repeat. @default 5 */
  readonly rounds?: number;
  /** Measured seconds per sample, a whole number. @default 1 */
  readonly seconds?: number;
  /** Seconds of load before the first sample, a whole number. @default 2 */
  readonly warmupSeconds?: number;
  /** @default 64 */
  readonly connections?: number;
  /** Process id of a server behind all variants, whose processor time is measured too. @default none */
  readonly backendPid?: number;
}

/** Measures of one sample. */
export interface Sample {
  /** Processor time of the whole server process per request, in microseconds. */
  readonly cpuUs: number;
  /** The same of the server behind it, 0 where there is none. */
  readonly backendUs: number;
  readonly requestsPerSecond: number;
  readonly p99Ms: number;
  /** Resident memory at the end, in MiB. */
  readonly rssMb: number;
}

/** All samples of one variant, in the order in which they were taken. */
export interface Row {
  readonly name: string;
  readonly samples: readonly Sample[];
}

/** Longest wait for a server to print its address, in ms. */
export const startMsMax = 30_000;
const repository = fileURLToPath(new URL("../../", import.meta.url));
const canPin = availableParallelism() > 1 && spawnSync("taskset", ["--version"]).status === 0;

const running = new Set<ChildProcess>();
function endAll(): void {
  for (const child of running) child.kill("SIGKILL");
}
process.once("exit", endAll);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

/** True if this machine has the `/proc` of Linux and `wrk`, which the harness needs. */
export function canMeasure(): boolean {
  return process.platform === "linux" && spawnSync("wrk", ["--version"]).error === undefined;
}

/**
 * Bundles a TypeScript file for any runtime and answers the path of the result. Benchmarks do not run through tsx, whose
 * helpers cost time in hot functions. The bundle uses the packages of the checkout at `root`.
 */
export async function bundleForBench(source: string, root: string = repository): Promise<string> {
  const folder = join(root, "node_modules/.cache/grandstand/bench");
  await build({
    entryPoints: [source],
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    packages: "external",
    logLevel: "warning",
  });
  return join(folder, `${basename(source, ".ts")}.mjs`);
}

/**
 * Samples every variant under the load.
 *
 * @throws {Error} A request failed, with the first answer that says so: what refuses its load is not measured.
 */
export async function compare(
  variants: readonly Variant[],
  load: Load,
  options: RunOptions = {},
): Promise<Row[]> {
  const rows = variants.map(({ name }) => ({ name, samples: [] as Sample[] }));
  for (let repeat = 0; repeat < (options.repeats ?? 2); repeat++) {
    const servers: Server[] = [];
    try {
      for (const variant of variants) servers.push(await start(variant));
      await measure(servers, rows, load, options);
    } finally {
      await Promise.all(servers.map(server => end(server.child)));
    }
  }
  return rows;
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/**
 * The cost of a request with `baseline` divided by the cost with `name`: 1 is as cheap, 0.5 costs twice as much. The median
 * of the ratios of all rounds.
 */
export function ratio(rows: readonly Row[], name: string, baseline: string): number {
  const [costs, bases] = [name, baseline].map(wanted => {
    const row = rows.find(candidate => candidate.name === wanted);
    if (row === undefined) throw new RangeError(`Cannot compare ${wanted}: it was not measured`);
    return row.samples.map(one => one.cpuUs);
  });
  return median((costs ?? []).map((cost, round) => (bases?.[round] ?? Number.NaN) / cost));
}

/** The same ratio between the cheapest samples, which neighbours on the machine disturbed least. */
export function bestRatio(rows: readonly Row[], name: string, baseline: string): number {
  const [cost = Number.NaN, base = Number.NaN] = [name, baseline].map(wanted =>
    Math.min(...(rows.find(row => row.name === wanted)?.samples ?? []).map(one => one.cpuUs)),
  );
  return base / cost;
}

/** A Markdown table of medians and raw values, with ratios to the first row. */
export function table(rows: readonly Row[]): string {
  const baseline = rows[0]?.name ?? "";
  const lines = rows.map(row => {
    const of = (key: keyof Sample): number => median(row.samples.map(one => one[key]));
    const raw = row.samples.map(one => one.cpuUs.toFixed(1)).join(" ");
    const cells = [
      row.name,
      of("cpuUs").toFixed(1),
      ratio(rows, row.name, baseline).toFixed(2),
      bestRatio(rows, row.name, baseline).toFixed(2),
      Math.round(of("requestsPerSecond")).toLocaleString("en"),
      of("p99Ms").toFixed(1),
      of("rssMb").toFixed(0),
      raw,
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    `| server | CPU us/req | vs ${baseline} | best vs best | req/s | p99 ms | RSS MiB | raw CPU us/req |`,
    "|---|---|---|---|---|---|---|---|",
    ...lines,
  ].join("\n");
}

interface Server {
  readonly name: string;
  readonly child: ChildProcess;
  readonly url: string;
}

async function measure(
  servers: readonly Server[],
  rows: readonly { samples: Sample[] }[],
  load: Load,
  options: RunOptions,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "grandstand-bench-"));
  const script = join(folder, "load.lua");
  const failing = join(folder, "until_failure.lua");
  writeFileSync(script, luaScript(load));
  writeFileSync(failing, `${luaScript(load)}\n${untilFailure}`);
  function run({ url }: Server, seconds: number, lua = script): ReturnType<typeof wrk> {
    return wrk([lua, `-c${options.connections ?? 64}`, `-d${seconds}s`, `${url}${load.path}`]);
  }
  try {
    for (const server of servers) await run(server, options.warmupSeconds ?? 2);
    for (let round = 0; round < (options.rounds ?? 5); round++) {
      const order = [...servers.keys()];
      for (const index of round % 2 === 0 ? order : order.reverse()) {
        const server = servers[index];
        if (server === undefined) continue;
        const pids = [server.child.pid ?? 0, options.backendPid ?? 0];
        const before = pids.map(cpuSeconds);
        const { report, printed } = await run(server, options.seconds ?? 1);
        const spent = pids.map((pid, at) => cpuSeconds(pid) - (before[at] ?? 0));
        if (report.errors > 0) {
          const shown = /^failed .*/m.exec((await run(server, 1, failing)).printed)?.[0] ?? printed;
          const share = `${report.errors} of ${report.requests}`;
          throw new Error(`Cannot measure ${server.name}: ${share} requests failed: ${shown}`);
        }
        rows[index]?.samples.push(sample(report, spent, server.child));
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function sample(report: WrkReport, [spent = 0, behind = 0]: readonly number[], child: ChildProcess): Sample {
  return {
    cpuUs: (spent * 1e6) / report.requests,
    backendUs: (behind * 1e6) / report.requests,
    requestsPerSecond: (report.requests * 1e6) / report.durationUs,
    p99Ms: report.p99Us / 1000,
    rssMb: residentMb(child),
  };
}

async function start(variant: Variant): Promise<Server> {
  const [file, ...args] = pinned(0, variant.command);
  const child = spawn(file, args, {
    env: { ...process.env, ...variant.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  const url = await new Promise<string>((resolve, reject) => {
    let printed = "";
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`${variant.name} did not listen in time`));
    }, startMsMax);
    child.once("exit", code => reject(new Error(`${variant.name} ended with ${code} before it listened`)));
    child.stdout?.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      const found = /http:\/\/[^\s"]+/.exec(printed);
      if (found === null) return;
      clearTimeout(timer);
      resolve(found[0].replace(/\/$/, ""));
    });
  });
  return { name: variant.name, child, url };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>(resolve => child.once("exit", () => resolve()));
  child.kill("SIGKILL");
  await ended;
}

function pinned(core: number, command: readonly [string, ...string[]]): readonly [string, ...string[]] {
  return canPin ? ["taskset", "-c", String(core), ...command] : command;
}

/** Time that all threads of a process have run, in seconds. `taskset` replaces itself, so the pid is right. */
function cpuSeconds(pid: number): number {
  if (pid === 0) return 0;
  const folder = `/proc/${pid}/task`;
  let nanoseconds = 0;
  for (const thread of readdirSync(folder)) {
    nanoseconds += Number(readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0]);
  }
  return nanoseconds / 1e9;
}

function residentMb(child: ChildProcess): number {
  const found = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
  return Number(found?.[1]) / 1024;
}

/** Prints the first answer that is an error. Kept apart, because reading every answer costs the load generator time. */
const untilFailure = `
local answered = response or function() end
function response(status, headers, body)
  if status >= 400 then
    print("failed " .. status .. " " .. body:sub(1, 1000))
    wrk.thread:stop()
  end
  answered(status, headers, body)
end`;

interface WrkReport {
  readonly requests: number;
  readonly durationUs: number;
  /** Answers outside 2xx and 3xx, and socket errors. */
  readonly errors: number;
  readonly p99Us: number;
}

async function wrk([script, ...args]: readonly [string, ...string[]]): Promise<{
  readonly report: WrkReport;
  readonly printed: string;
}> {
  const [file, ...rest] = pinned(1, ["wrk", "-t1", "-s", script, ...args]);
  const child = spawn(file, rest, { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const code = await new Promise<number | null>(resolve => child.once("close", resolve));
  const found = /^report (.+)$/m.exec(printed);
  if (code !== 0 || found?.[1] === undefined) throw new Error(`wrk ended with ${code}: ${printed}`);
  return { report: JSON.parse(found[1]) as WrkReport, printed };
}

function luaScript(load: Load): string {
  const headers = Object.entries(load.headers ?? {}).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  return [
    `wrk.method = ${JSON.stringify(load.method ?? "GET")}`,
    ...headers,
    load.body === undefined ? "" : `wrk.body = ${JSON.stringify(load.body)}`,
    load.lua ?? "",
    "function done(summary, latency)",
    "  local e = summary.errors",
    '  print(string.format(\'report {"requests":%d,"durationUs":%d,"errors":%d,"p99Us":%d}\', summary.requests,',
    "    summary.duration, e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(99)))",
    "end",
  ].join("\n");
}
