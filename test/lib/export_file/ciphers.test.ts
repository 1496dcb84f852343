/** Every implementation of the cipher gives the bytes that node:crypto gives. */

import assert from "node:assert/strict";
import { createCipheriv, randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { nobleGcm } from "../../../lib/export_file/noble_cipher.ts";
import type { GcmEncryption } from "../../../lib/ports/export_kernels.ts";

async function run(cipher: GcmEncryption, pieces: readonly Uint8Array[]): Promise<{ data: Buffer; tag: Buffer }> {
  const data: Uint8Array[] = [];
  for (const piece of pieces) data.push(await cipher.update(piece));
  return { data: Buffer.concat(data), tag: Buffer.from(await cipher.finish()) };
}

describe("noble", () => {
  it("encrypts", async () => {
    const secret = { key: randomBytes(32), iv: randomBytes(12) };
    const plain = randomBytes(1_000_003);
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < plain.length; ) {
      const n = Math.floor(Math.random() * 300_000);
      pieces.push(plain.subarray(at, at + n));
      at += n;
    }
    const native = createCipheriv("aes-256-gcm", secret.key, secret.iv);
    const expected = Buffer.concat([native.update(plain), native.final()]);
    const got = await run(nobleGcm(secret), pieces);
    assert.ok(got.data.equals(expected));
    assert.ok(got.tag.equals(native.getAuthTag()));
  });
});
