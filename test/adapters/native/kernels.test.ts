/** The runtimes' own key derivation gives the bytes of the portable one, at every cost that is in use. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { concurrentHashes, nativeKernels } from "../../../adapters/native/mod.ts";
import { portableKernels } from "../../../lib/auth/passwords/kernels.ts";
import { runtimes } from "../../runtime/runtimes.ts";
import { argon2idSamples, scryptSamples } from "./_samples.ts";

const folder = fileURLToPath(
  new URL(`../../../node_modules/.cache/grandstand/native-${process.pid}/`, import.meta.url),
);
const program = `${folder}_keys.mjs`;
after(() => rmSync(folder, { recursive: true, force: true }));

const bundled = build({
  entryPoints: [fileURLToPath(new URL("_keys.ts", import.meta.url))],
  outfile: program,
  bundle: true,
  format: "esm",
  platform: "node",
  packages: "external",
  logLevel: "warning",
});

interface Printed {
  readonly keys: Readonly<Record<string, string>>;
  readonly concurrentMax: number;
}

let expected: Promise<Map<string, string>> | undefined;

/** Every sample's key from the portable kernels. */
async function portableKeys(): Promise<Map<string, string>> {
  const input = {
    password: new TextEncoder().encode("pässword"),
    salt: new Uint8Array(16).fill(7),
    length: 32,
  };
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
  const keys = new Map<string, string>();
  for (const cost of scryptSamples) {
    keys.set(JSON.stringify(cost), hex(await portableKernels.scrypt(input, cost)));
  }
  for (const cost of argon2idSamples) {
    keys.set(JSON.stringify(cost), hex(await portableKernels.argon2id(input, cost)));
  }
  return keys;
}

describe("the native kernels", () => {
  for (const { name, command, skip } of runtimes) {
    it(`derive on ${name} what the portable ones derive`, { skip }, async () => {
      await bundled;
      const [file, ...args] = command;
      const { stdout } = await promisify(execFile)(file, [...args, program]);
      const { keys, concurrentMax } = JSON.parse(stdout) as Printed;
      expected ??= portableKeys();
      const all = await expected;
      const hasArgon2id = name.startsWith("Node 24") || name.startsWith("Bun");
      for (const cost of scryptSamples) assert.ok(JSON.stringify(cost) in keys);
      for (const cost of argon2idSamples) assert.ok(JSON.stringify(cost) in keys || !hasArgon2id);
      for (const [cost, key] of Object.entries(keys)) assert.equal(key, all.get(cost), cost);
      assert.ok(concurrentMax >= 1);
    });
  }

  it("leave one core free, if there are several, and one thread of libuv's pool", () => {
    assert.equal(concurrentHashes(1, undefined), 1);
    assert.equal(concurrentHashes(2, undefined), 1);
    assert.equal(concurrentHashes(3, undefined), 2);
    assert.equal(concurrentHashes(4, undefined), 3);
    assert.equal(concurrentHashes(64, undefined), 3);
    assert.equal(concurrentHashes(64, "16"), 15);
    assert.equal(concurrentHashes(8, "1"), 1);
    assert.equal(concurrentHashes(1, "1024"), 1);
    for (const size of [1_024, 1_024 + 1]) {
      assert.equal(concurrentHashes(4_096, `${size}`), 1_024 - 1);
    }
    assert.equal(concurrentHashes(4_096, `${1_024 - 1}`), 1_024 - 2);
    for (const odd of ["", "0", "-4", "many"]) assert.equal(concurrentHashes(64, odd), 3, odd);
  });

  it("reject, and do not crash, on a cost that they cannot compute", async () => {
    const { scrypt } = nativeKernels();
    const input = { password: new Uint8Array(8), salt: new Uint8Array(16), length: 32 };
    await assert.rejects(async () => await scrypt?.(input, { logN: 0, r: 8, p: 1 }));
  });
});
