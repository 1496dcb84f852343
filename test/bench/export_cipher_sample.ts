/** One sample of `export_cipher.ts`, in a runtime of its own: prints what each way of encryption takes, as JSON. */

import { Buffer } from "node:buffer";
import { createCipheriv, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import process from "node:process";
import { nativeExportKernels } from "../../adapters/native/mod.ts";
import { base64Bytes } from "../../lib/fans/exports/file/base64.ts";
import type { GcmEncryption, GcmSecret } from "../../lib/fans/exports/file/kernels.ts";
import { nobleGcm } from "../../lib/fans/exports/file/noble_gcm.ts";

/** Time of one variant, in ms per MiB: wall time, and processor time over all threads. */
export interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** Measures of one process. */
export interface CipherSample {
  readonly costs: Readonly<Record<string, readonly Cost[]>>;
  /** Of each run of the product's way. */
  readonly gaps: readonly Gap[];
}

/** The longest time between two turns of the event loop, in ms. */
export interface Gap {
  readonly gapMs: number;
  /** Without the time in which the event loop was ready to run and had no core: the load of the machine. */
  readonly ownGapMs: number;
}

/** About a page of a thousand users, which is what an export job encrypts at a time. */
const partBytes = 262_128;
/** Size of the pieces of the pipeline written inline, in bytes; larger ones leave the cache. */
const pieceBytes = 49_152;
const parts = 256;
const rounds = 6;
const mib = 1_048_576;

const part = new Uint8Array(partBytes);
for (let at = 0; at < partBytes; at += 65_536) crypto.getRandomValues(part.subarray(at, at + 65_536));
const kernels = nativeExportKernels();
let written = 0;

function newSecret(): GcmSecret {
  return { key: new Uint8Array(randomBytes(32)), iv: new Uint8Array(randomBytes(12)) };
}

/** The shortest implementation: node:crypto, Base64, and its bytes for the store. */
async function inline(count: number): Promise<void> {
  const { key, iv } = newSecret();
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  for (let index = 0; index < count; index++) {
    for (let from = 0; from < partBytes; from += pieceBytes) {
      const text = cipher.update(part.subarray(from, from + pieceBytes)).toString("base64");
      written += Buffer.from(text, "latin1").length;
    }
    await turn();
  }
  cipher.final();
  written += cipher.getAuthTag().length;
}

/** Encrypts and encodes as an export job does. */
function through(
  cipherOf: (secret: GcmSecret) => GcmEncryption,
  encode: (bytes: Uint8Array) => Uint8Array,
): (count: number) => Promise<void> {
  return async count => {
    const cipher = cipherOf(newSecret());
    for (let index = 0; index < count; index++) {
      written += encode(await cipher.update(part)).length;
      await turn();
    }
    written += (await cipher.finish()).length;
  };
}

function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}

const none = (bytes: Uint8Array): Uint8Array => bytes;
const product = through(kernels.aes256Gcm.encrypt, bytes => base64Bytes(bytes, kernels));
const ways: Readonly<
  Record<string, { readonly run: (count: number) => Promise<void>; readonly parts: number }>
> = {
  inline: { run: inline, parts },
  product: { run: product, parts },
  "cipher: node:crypto": { run: through(kernels.aes256Gcm.encrypt, none), parts },
  "cipher: noble": { run: through(nobleGcm.encrypt, none), parts: 16 },
  "Base64: node:buffer": { run: through(() => unchanged, kernels.base64), parts },
  "Base64: portable": {
    run: through(
      () => unchanged,
      bytes => base64Bytes(bytes),
    ),
    parts,
  },
};
const unchanged: GcmEncryption = { update: plain => plain, finish: () => new Uint8Array(16) };

async function costOf(run: (count: number) => Promise<void>, count: number): Promise<Cost> {
  const [before, start] = [process.cpuUsage(), performance.now()];
  await run(count);
  const wall = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  const amount = (count * partBytes) / mib;
  return { wallMs: wall / amount, cpuMs: (user + system) / 1_000 / amount };
}

/** Time for which this thread, which runs the event loop, has been ready to run without a core, in ms. */
function waitedMs(): number {
  if (process.platform !== "linux") return 0;
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ")[1]) / 1e6;
}

/** The longest time between two turns while the product's way runs: by the clock, and without waiting for a core. */
async function longestGap(): Promise<Gap> {
  let last = { at: performance.now(), waited: waitedMs() };
  let [gapMs, ownGapMs, isOver] = [0, 0, false];
  function look(): void {
    const now = { at: performance.now(), waited: waitedMs() };
    const gap = now.at - last.at;
    gapMs = Math.max(gapMs, gap);
    ownGapMs = Math.max(ownGapMs, gap - (now.waited - last.waited));
    last = now;
    if (!isOver) setImmediate(look);
  }
  look();
  await product(parts);
  isOver = true;
  return { gapMs, ownGapMs };
}

const costs: Record<string, Cost[]> = Object.fromEntries(Object.keys(ways).map(name => [name, []]));
for (const { run } of Object.values(ways)) await run(1);
for (let round = 0; round < rounds; round++) {
  const order = Object.entries(ways);
  for (const [name, way] of round % 2 === 0 ? order : order.toReversed()) {
    costs[name]?.push(await costOf(way.run, way.parts));
  }
}
const gaps: Gap[] = [];
for (let round = 0; round < rounds; round++) gaps.push(await longestGap());
const sample: CipherSample = { costs, gaps };
if (written > 0) console.log(JSON.stringify(sample));
