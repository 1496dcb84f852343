/**
 * Processor time of `grandstand orgs list --json` from the bundle, beyond a bare program that makes the same request.
 *
 * ```sh
 * npm run bench -- cli_start [samples]
 * ```
 */

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { bundle } from "../../runtime/build.ts";
import { figure } from "./figure.ts";

const samples = Number(process.argv[2] ?? 40);
/** Inside node_modules, so that the package finds its dependencies. */
const folder = fileURLToPath(
  new URL(`../../node_modules/.cache/grandstand/cli-start-${process.pid}`, import.meta.url),
);
/** Of the kernel's counters, in ms. */
const tickMs = 10;

const organisation = { type: "organisations", id: "0a", attributes: { name: "Club" } };
/** In a thread of its own, as programs are awaited without an event loop. */
const server = new Worker(
  `const { parentPort } = require("node:worker_threads");
  const server = require("node:http").createServer((_, response) => {
    response.setHeader("content-type", "application/vnd.api+json");
    response.end(${JSON.stringify(JSON.stringify({ data: [organisation], links: { next: null } }))});
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));`,
  { eval: true },
);

/** Processor time of all programs that have ended, in ms. */
function childrenMs(): number {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[13]) + Number(fields[14])) * tickMs;
}

function programMs(args: readonly string[], port: number): number {
  const before = childrenMs();
  const env = {
    PATH: process.env.PATH ?? "",
    GRANDSTAND_CONTROL_URL: `http://127.0.0.1:${port}`,
    GRANDSTAND_TOKEN: "gst_bench",
    GRANDSTAND_CONFIG: `${folder}/none.json`,
  };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
  if (status !== 0 || !stdout.includes("Club")) throw new Error(`The program failed: ${stderr}`);
  return childrenMs() - before;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

try {
  const [port] = (await once(server, "message")) as [number];
  mkdirSync(folder, { recursive: true });
  await bundle(folder);
  // As in the package; without it Node reads each file twice.
  writeFileSync(`${folder}/package.json`, '{"type": "module"}');
  const bare = `${folder}/bare.mjs`;
  writeFileSync(
    bare,
    `const headers = { authorization: "Bearer " + process.env.GRANDSTAND_TOKEN };
    const response = await fetch(process.env.GRANDSTAND_CONTROL_URL + "/api/v2/organisations", { headers });
    console.log(JSON.stringify(await response.json()));`,
  );
  const command = [`${folder}/runtime/cli.js`, "orgs", "list", "--json"];
  for (const args of [[bare], command]) programMs(args, port);
  const pairs = Array.from(
    { length: samples },
    () => [programMs([bare], port), programMs(command, port)] as const,
  );
  const [base, whole] = [mean(pairs.map(pair => pair[0])), mean(pairs.map(pair => pair[1]))];
  console.log(`orgs list: ${whole.toFixed(0)} ms, a bare request ${base.toFixed(0)} ms, of processor time`);
  figure(
    "`grandstand orgs list --json` beyond a bare request, Node 20, processor time",
    `${(whole - base).toFixed(0)} ms`,
    "25 ms",
  );
} finally {
  await server.terminate();
  rmSync(folder, { recursive: true, force: true });
}
