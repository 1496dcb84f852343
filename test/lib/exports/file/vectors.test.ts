/** Published vectors, right and wrong ones, through every implementation. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { nativeExportKernels, nativeGcm } from "../../../../adapters/native/mod.ts";
import { AppError } from "../../../../lib/errors/mod.ts";
import { Decryption } from "../../../../lib/exports/file/decryption.ts";
import type { ExportKernels } from "../../../../lib/exports/file/kernels.ts";
import { noblePrimitives } from "../../../../lib/exports/file/noble_primitives.ts";
import { webPrimitives } from "../../../../lib/exports/file/web_primitives.ts";
import { type SharedData, sharedData } from "../../../support/shared_data.ts";

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
const web = webPrimitives(crypto.subtle);
const kernels: Readonly<Record<string, ExportKernels>> = {
  "node:crypto": { ...nativeExportKernels(), aes256Gcm: nativeGcm },
  WebCrypto: { aes256Gcm: web.gcm },
  noble: { aes256Gcm: noblePrimitives.gcm },
};

function read<G>({ path }: SharedData): readonly G[] {
  return path === null ? [] : (JSON.parse(readFileSync(path, "utf8")) as Vectors<G>).testGroups;
}

/** Those that have the form of an export: keys of 256 bits, vectors of 96, tags of 128, no additional data. */
const gcmTests = read<GcmGroup>(gcmData)
  .filter(({ ivSize, keySize, tagSize }) => ivSize === 96 && keySize === 256 && tagSize === 128)
  .flatMap(({ tests }) => tests)
  .filter(({ aad }) => aad === "");

async function* one(piece: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield piece;
}

async function decrypted(test: GcmGroup["tests"][number], by: ExportKernels): Promise<string> {
  const file = { pieces: one(Buffer.from(test.ct, "hex")), close: async () => {} };
  const [key, iv, tag] = [test.key, test.iv, test.tag].map(text => Buffer.from(text, "hex"));
  assert.ok(key !== undefined && iv !== undefined && tag !== undefined);
  const decryption = new Decryption(file, { key, iv, tag, kernels: by });
  const plain: Uint8Array[] = [];
  for (let part = await decryption.next(); part.done !== true; part = await decryption.next()) {
    plain.push(part.value);
  }
  return Buffer.concat(plain).toString("hex");
}

for (const [name, by] of Object.entries(kernels)) {
  describe(`the Wycheproof vectors of AES-GCM by ${name}`, { skip: gcmData.skip }, () => {
    const [valid, invalid] = ["valid", "invalid"].map(kind =>
      gcmTests.filter(({ result }) => result === kind),
    );

    it("decrypt and encrypt to what is published", async () => {
      assert.ok((valid ?? []).length > 20);
      for (const test of valid ?? []) {
        assert.equal(await decrypted(test, by), test.msg, `test ${test.tcId}`);
        const cipher = by.aes256Gcm?.({ key: Buffer.from(test.key, "hex"), iv: Buffer.from(test.iv, "hex") });
        const data = await cipher?.update(Buffer.from(test.msg, "hex"));
        assert.equal(Buffer.from(data ?? []).toString("hex"), test.ct, `test ${test.tcId}`);
        const tag = await cipher?.finish();
        assert.equal(Buffer.from(tag ?? []).toString("hex"), test.tag, `test ${test.tcId}`);
      }
    });

    it("are refused where the tag is wrong", async () => {
      assert.ok((invalid ?? []).length > 20);
      for (const test of invalid ?? []) {
        await assert.rejects(
          decrypted(test, by),
          (error: unknown) => error instanceof AppError && error.code === "invalid_credentials",
          `test ${test.tcId}`,
        );
      }
    });
  });
}

for (const [name, { pbkdf2 }] of Object.entries({ WebCrypto: web, noble: noblePrimitives })) {
  describe(`the Wycheproof vectors of PBKDF2-HMAC-SHA-256 by ${name}`, { skip: pbkdfData.skip }, () => {
    it("give what is published, as far as a key goes", async () => {
      const tests = read<PbkdfGroup>(pbkdfData).flatMap(group => group.tests);
      assert.ok(tests.length > 50);
      for (const { tcId, password, salt, iterationCount, dk } of tests) {
        const key = await pbkdf2(Buffer.from(password, "hex"), Buffer.from(salt, "hex"), iterationCount);
        const bytes = Math.min(key.length, dk.length / 2);
        assert.equal(
          Buffer.from(key)
            .toString("hex")
            .slice(0, bytes * 2),
          dk.slice(0, bytes * 2),
          `test ${tcId}`,
        );
      }
    });
  });
}
