/** Both ciphers and both key derivations produce what node:crypto produces. */

import assert from "node:assert/strict";
import { createCipheriv, pbkdf2Sync, randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { nativeExportKernels } from "../../../../../adapters/native/mod.ts";
import type { Aes256Gcm, GcmEncryption, GcmSecret } from "../../../../../lib/fans/exports/file/kernels.ts";
import { nobleGcm } from "../../../../../lib/fans/exports/file/noble_gcm.ts";
import { noblePbkdf2, webPbkdf2 } from "../../../../../lib/fans/exports/file/secret.ts";

const ciphers: Readonly<Record<string, Aes256Gcm>> = {
  "node:crypto": nativeExportKernels().aes256Gcm,
  noble: nobleGcm,
};

interface Sealed {
  readonly data: Buffer;
  readonly tag: Buffer;
}

function newSecret(): GcmSecret {
  return { key: randomBytes(32), iv: randomBytes(12) };
}

function oneShot({ key, iv }: GcmSecret, plain: Uint8Array): Sealed {
  const cipher = createCipheriv("aes-256-gcm", key, iv);
  return { data: Buffer.concat([cipher.update(plain), cipher.final()]), tag: cipher.getAuthTag() };
}

/** Feeds bytes in pieces of the next size; each result must be as long as its piece. */
async function inPieces(
  update: GcmEncryption["update"],
  bytes: Uint8Array,
  size: () => number,
): Promise<Buffer> {
  const results: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const piece = bytes.subarray(at, at + size());
    const result = await update(piece);
    assert.equal(result.length, piece.length);
    results.push(Uint8Array.from(result));
    at += piece.length;
  }
  return Buffer.concat(results);
}

for (const [name, gcm] of Object.entries(ciphers)) {
  /** Asserts that a cipher encrypts and decrypts as one call of node:crypto does. */
  async function assertSame(plain: Uint8Array, size: () => number): Promise<void> {
    const secret = newSecret();
    const expected = oneShot(secret, plain);
    const encryption = gcm.encrypt(secret);
    const data = await inPieces(piece => encryption.update(piece), plain, size);
    assert.ok(data.equals(expected.data), "the ciphertext differs");
    assert.deepEqual(Buffer.from(await encryption.finish()), expected.tag);
    const decryption = gcm.decrypt(secret);
    const opened = await inPieces(piece => decryption.update(piece), data, size);
    assert.ok(opened.equals(plain), "the plaintext differs");
    assert.equal(await decryption.verify(expected.tag), true);
  }

  describe(`AES-256-GCM by ${name}`, () => {
    it("matches one call of node:crypto for every length around the blocks", async () => {
      for (const length of [0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 255, 256, 257]) {
        await assertSame(randomBytes(length), () => 1);
        await assertSame(randomBytes(length), () => 64);
      }
    });

    it("matches one call of node:crypto for random pieces", async () => {
      for (let round = 0; round < 12; round++) {
        const largest = 10 ** (1 + Math.random() * 5);
        const length = Math.floor(Math.random() * Math.min(400_000, 1_000 * largest));
        await assertSame(randomBytes(length), () => Math.floor(Math.random() * largest));
      }
    });

    it("matches one call of node:crypto for a large piece", async () => {
      await assertSame(randomBytes(300_017), () => 300_017);
    });

    it("leaves its input unchanged", async () => {
      const plain = randomBytes(100);
      const copy = Buffer.from(plain);
      await gcm.encrypt(newSecret()).update(plain);
      await gcm.decrypt(newSecret()).update(plain);
      assert.deepEqual(plain, copy);
    });

    it("continues where another encryption stopped, after it is fed the same text", async () => {
      const [secret, plain] = [newSecret(), randomBytes(100_000)];
      const stored = Buffer.from(await gcm.encrypt(secret).update(plain.subarray(0, 48_001)));
      const resumed = gcm.encrypt(secret);
      await resumed.update(await gcm.decrypt(secret).update(stored));
      const rest = Buffer.from(await resumed.update(plain.subarray(48_001)));
      const expected = oneShot(secret, plain);
      assert.ok(Buffer.concat([stored, rest]).equals(expected.data));
      assert.deepEqual(Buffer.from(await resumed.finish()), expected.tag);
    });

    it("rejects a tag that differs in any bit", async () => {
      const [secret, plain] = [newSecret(), randomBytes(1_000)];
      const { data, tag } = oneShot(secret, plain);
      for (let bit = 0; bit < 128; bit += 7) {
        const changed = Buffer.from(tag);
        changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        const decryption = gcm.decrypt(secret);
        await decryption.update(data);
        assert.equal(await decryption.verify(changed), false, `bit ${bit}`);
      }
    });
  });
}

describe("noble's cipher", () => {
  it("lets other work run between its slices", async () => {
    let turns = 0;
    let isOver = false;
    function count(): void {
      turns += 1;
      if (!isOver) setImmediate(count);
    }
    const cipher = nobleGcm.encrypt(newSecret());
    await cipher.update(new Uint8Array(1));
    setImmediate(count);
    await cipher.update(new Uint8Array(655_360));
    isOver = true;
    assert.ok(turns >= 4, `${turns} turns`);
  });
});

describe("the key of an export", () => {
  it("is that of PBKDF2-HMAC-SHA-256, by WebCrypto and by noble", async () => {
    const input = { password: randomBytes(32), salt: randomBytes(16), iterations: 1_000 };
    const expected = pbkdf2Sync(input.password, input.salt, input.iterations, 32, "sha256");
    assert.deepEqual(Buffer.from(await webPbkdf2(crypto.subtle, input)), expected);
    assert.deepEqual(Buffer.from(await noblePbkdf2(input)), expected);
  });
});
