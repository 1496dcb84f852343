/**
 * The cost of a password hash: through the hasher and its gate, by the runtime's scrypt alone, and by the portable one; and
 * the time for which eight at once block the event loop.
 *
 *     npm run bench -- passwords
 *
 * Hashes per second of one core come from the processor time of all threads of the process, since that hardly depends on
 * what else the machine does. The variants take turns, each round in the reverse order of the last. The gap is the longest
 * lateness of a timer that fires each millisecond. Beside it stands the longest one without the time in which the event
 * loop was ready to run and had no core, which Linux counts: that part is the load of the machine.
 *
 * @module
 */

import { scrypt } from "node:crypto";
import { readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { promisify } from "node:util";
import { nativeKernels } from "../../adapters/native/mod.ts";
import { systemRandom } from "../../lib/auth/crypto/mod.ts";
import { createPasswordHasher, gatedHasher, HashGate, passwordCosts } from "../../lib/auth/passwords/mod.ts";
import { median } from "./harness.ts";

const keyBytes = 32;
const saltBytes = 16;

const rounds = 7;
const hashes = 8;
/** Fewer, because they are slow and run one by one. */
const portableHashes = 2;
const password = "correct horse battery staple";
const cost = { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 26 };

interface Variant {
  readonly name: string;
  /** Number of hashes at once; 0 where nothing is hashed. */
  readonly hashes: number;
  readonly run: (hashes: number) => Promise<unknown>;
}

interface Sample {
  readonly perCoreSecond: number;
  readonly gapMs: number;
  readonly ownGapMs: number;
}

const scryptAsync = promisify<string, Uint8Array, number, typeof cost, Buffer>(scrypt);
const kernels = nativeKernels();
const { concurrentMax = 2 } = kernels;

/** Keeps `concurrentMax` hashes running until the count is reached: the least that anybody could do. */
async function raw(count: number): Promise<void> {
  let left = count;
  async function lane(): Promise<void> {
    while (left-- > 0) await scryptAsync(password, systemRandom(saltBytes), keyBytes, cost);
  }
  await Promise.all(Array.from({ length: concurrentMax }, lane));
}

function all(count: number, work: () => Promise<unknown>): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, work));
}

async function variants(): Promise<Variant[]> {
  // The wait is not what is measured here.
  const never = () => () => {};
  const gate = new HashGate({ concurrentMax, timer: never });
  const native = gatedHasher(createPasswordHasher({ random: systemRandom, kernels }), gate);
  // The platform runs portable hashes one by one.
  const oneByOne = new HashGate({ concurrentMax: 1, timer: never });
  const portable = gatedHasher(createPasswordHasher({ random: systemRandom }), oneByOne);
  const stored = await native.hash(password);
  function asking(name: string, work: () => Promise<unknown>): Variant {
    return { name, hashes, run: count => all(count, work) };
  }
  return [
    { name: "node:crypto scrypt alone", hashes, run: raw },
    asking("hasher.hash behind the gate", () => native.hash(password)),
    asking("hasher.verify behind the gate", () => native.verify(stored, password)),
    asking("hasher.verify of a malformed hash", () => native.verify("malformed", password)),
    { ...asking("portable hasher.hash", () => portable.hash(password)), hashes: portableHashes },
    ...argon2idVariants(gate),
    { name: "nothing, for a second", hashes: 0, run: () => new Promise(end => setTimeout(end, 1_000)) },
  ];
}

/** Time for which this thread, which runs the event loop, has been ready to run without a core, in ms. */
function waitedMs(): number {
  if (process.platform !== "linux") return 0;
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ")[1]) / 1e6;
}

/** Only where the runtime has it: Node since 24.7, and Bun. */
function argon2idVariants(gate: HashGate): Variant[] {
  if (kernels.argon2id === undefined) return [];
  const options = { random: systemRandom, kernels, cost: passwordCosts.argon2id };
  const hasher = gatedHasher(createPasswordHasher(options), gate);
  const run = (count: number): Promise<unknown> => all(count, () => hasher.hash(password));
  return [{ name: "hasher.hash with Argon2id", hashes, run }];
}

async function sample({ hashes: count, run }: Variant): Promise<Sample> {
  let last = { at: performance.now(), waited: waitedMs() };
  let gapMs = 0;
  let ownGapMs = 0;
  const ticks = setInterval(() => {
    const now = { at: performance.now(), waited: waitedMs() };
    const late = now.at - last.at - 1;
    gapMs = Math.max(gapMs, late);
    ownGapMs = Math.max(ownGapMs, late - (now.waited - last.waited));
    last = now;
  }, 1);
  const started = process.cpuUsage();
  await run(count);
  const { user, system } = process.cpuUsage(started);
  clearInterval(ticks);
  return { perCoreSecond: (count * 1e6) / (user + system), gapMs, ownGapMs };
}

const samples = new Map<string, Sample[]>();
const contenders = await variants();
for (const { run } of contenders.slice(0, 2)) await run(2);
for (let round = 0; round < rounds; round++) {
  for (const variant of round % 2 === 0 ? contenders : contenders.toReversed()) {
    const before = samples.get(variant.name) ?? [];
    samples.set(variant.name, [...before, await sample(variant)]);
  }
}

const baseline = samples.get("node:crypto scrypt alone") ?? [];
console.log(
  `node ${process.versions.node}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}`,
);
console.log(`scrypt N=2^15 r=8 p=3, ${hashes} asked for at once, ${concurrentMax} run at once\n`);
console.log(
  "| variant | hashes/s per core | vs alone | gap, median ms | gap without waiting for a core: median, raw ms |",
);
console.log("|---|---|---|---|---|");
for (const [name, row] of samples) {
  const rates = row.map(one => one.perCoreSecond);
  const ratio = median(rates.map((rate, round) => rate / (baseline[round]?.perCoreSecond ?? Number.NaN)));
  const own = row.map(one => one.ownGapMs);
  const isHashing = median(rates) > 0;
  const cells = [
    name,
    isHashing ? median(rates).toFixed(2) : "-",
    isHashing ? ratio.toFixed(3) : "-",
    median(row.map(one => one.gapMs)).toFixed(1),
    `${median(own).toFixed(1)} (${own.map(gap => gap.toFixed(1)).join(" ")})`,
  ];
  console.log(`| ${cells.join(" | ")} |`);
}
