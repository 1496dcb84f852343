/** Published vectors, valid and invalid, through every implementation. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { nativeExportKernels } from "../../../../../adapters/native/mod.ts";
import type { Aes256Gcm } from "../../../../../lib/fans/exports/file/kernels.ts";
import { nobleGcm } from "../../../../../lib/fans/exports/file/noble_gcm.ts";
import { noblePbkdf2, type Pbkdf2Input, webPbkdf2 } from "../../../../../lib/fans/exports/file/secret.ts";
import { type SharedData, sharedData } from "../../../../support/shared_data.ts";

interface Vectors<G> {
  readonly testGroups: readonly G[];
}
interface GcmGroup {
  readonly ivSize: number;
  readonly keySize: number;
  readonly tagSize: number;
  readonly tests: readonly (Readonly<Record<"key" | "iv" | "aad" | "msg" | "ct" | "tag", string>> & {
    readonly tcId: number;
    readonly result: "valid" | "invalid";
  })[];
}
interface PbkdfGroup {
  readonly tests: readonly (Readonly<Record<"password" | "salt" | "dk", string>> & {
    readonly tcId: number;
    readonly iterationCount: number;
  })[];
}

const gcmData = sharedData("vectors/aes_gcm_test.json");
const pbkdfData = sharedData("vectors/pbkdf2_hmacsha256_test.json");
const ciphers: Readonly<Record<string, Aes256Gcm>> = {
  "node:crypto": nativeExportKernels().aes256Gcm,
  noble: nobleGcm,
};
const derivations: Readonly<Record<string, (input: Pbkdf2Input) => Promise<Uint8Array>>> = {
  WebCrypto: input => webPbkdf2(crypto.subtle, input),
  noble: noblePbkdf2,
};

function read<G>({ path }: SharedData): readonly G[] {
  return path === null ? [] : (JSON.parse(readFileSync(path, "utf8")) as Vectors<G>).testGroups;
}

/** The vectors with the sizes of an export: keys of 256 bits, vectors of 96, tags of 128, no additional data. */
const gcmTests = read<GcmGroup>(gcmData)
  .filter(({ ivSize, keySize, tagSize }) => ivSize === 96 && keySize === 256 && tagSize === 128)
  .flatMap(({ tests }) => tests)
  .filter(({ aad }) => aad === "");

/** Decrypts the ciphertext of a vector; null if its tag does not match. */
async function decrypted(gcm: Aes256Gcm, test: GcmGroup["tests"][number]): Promise<string | null> {
  const decryption = gcm.decrypt({ key: Buffer.from(test.key, "hex"), iv: Buffer.from(test.iv, "hex") });
  const plain = Buffer.from(await decryption.update(Buffer.from(test.ct, "hex"))).toString("hex");
  return (await decryption.verify(Buffer.from(test.tag, "hex"))) ? plain : null;
}

for (const [name, gcm] of Object.entries(ciphers)) {
  describe(`the Wycheproof vectors of AES-GCM by ${name}`, { skip: gcmData.skip }, () => {
    const [valid = [], invalid = []] = ["valid", "invalid"].map(kind =>
      gcmTests.filter(({ result }) => result === kind),
    );

    it("decrypt and encrypt to what is published", async () => {
      assert.ok(valid.length > 20);
      for (const test of valid) {
        assert.equal(await decrypted(gcm, test), test.msg, `test ${test.tcId}`);
        const secret = { key: Buffer.from(test.key, "hex"), iv: Buffer.from(test.iv, "hex") };
        const cipher = gcm.encrypt(secret);
        const data = await cipher.update(Buffer.from(test.msg, "hex"));
        assert.equal(Buffer.from(data).toString("hex"), test.ct, `test ${test.tcId}`);
        const tag = await cipher.finish();
        assert.equal(Buffer.from(tag).toString("hex"), test.tag, `test ${test.tcId}`);
      }
    });

    it("are rejected if the tag is wrong", async () => {
      assert.ok(invalid.length > 20);
      for (const test of invalid) assert.equal(await decrypted(gcm, test), null, `test ${test.tcId}`);
    });
  });
}

for (const [name, derive] of Object.entries(derivations)) {
  describe(`the Wycheproof vectors of PBKDF2-HMAC-SHA-256 by ${name}`, { skip: pbkdfData.skip }, () => {
    it("derive what is published, as far as a key goes", async () => {
      const tests = read<PbkdfGroup>(pbkdfData).flatMap(group => group.tests);
      assert.ok(tests.length > 50);
      for (const { tcId, password, salt, iterationCount: iterations, dk } of tests) {
        const input = { password: Buffer.from(password, "hex"), salt: Buffer.from(salt, "hex"), iterations };
        const key = Buffer.from(await derive(input)).toString("hex");
        const digits = Math.min(key.length, dk.length);
        assert.equal(key.slice(0, digits), dk.slice(0, digits), `test ${tcId}`);
      }
    });
  });
}
