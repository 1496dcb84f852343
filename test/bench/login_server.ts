/**
 * The whole platform with the runtime's own key derivation, on a free port. A SIGUSR2 makes it print, as JSON, how late its
 * event loop was since the last one.
 */

import { readFileSync } from "node:fs";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { nativeKernels } from "../../adapters/native/mod.ts";
import { createPlatform, MasterSecret } from "../../lib/mod.ts";
import type { Batch, Partition } from "../../lib/storage/mod.ts";
import { serveHere } from "../../runtime/server/serve_here.ts";
import { percentile } from "./login_load.ts";

/** Lateness of a timer that fires each millisecond: p99 in ms. */
export interface Lateness {
  readonly all: number;
  /** Without the time in which the event loop was ready to run and had no core. */
  readonly own: number;
}

const { commits } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as {
  readonly commits: readonly (readonly [Partition, Batch])[];
};

/** Time in which the main thread waited for a core so far, in ms. */
function coreless(): number {
  const [, waited] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
  return Number(waited) / 1e6;
}

let all: number[] = [];
let own: number[] = [];
let last = { at: performance.now(), coreless: coreless() };
setInterval(() => {
  const now = { at: performance.now(), coreless: coreless() };
  const late = now.at - last.at - 1;
  all.push(late);
  own.push(late - (now.coreless - last.coreless));
  last = now;
}, 1);
process.on("SIGUSR2", () => {
  const lateness: Lateness = { all: percentile(all, 99), own: percentile(own, 99) };
  console.log(JSON.stringify(lateness));
  all = [];
  own = [];
});

const store = createMemoryStore();
for (const [partition, batch] of commits) await store.commit(partition, batch);
const platform = await createPlatform({
  store,
  secret: new MasterSecret("a master secret for tests, long enough to be accepted"),
  passwordKernels: nativeKernels(),
  // The load of one user is beyond what one user may ask.
  identity: { limits: "off" },
});
console.log((await serveHere(platform.fetch, { port: 0, onError: console.error })).url);
