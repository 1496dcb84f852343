/** Every implementation of what export files are made with gives the bytes that node:crypto gives. */

import assert from "node:assert/strict";
import { createCipheriv, createDecipheriv, pbkdf2Sync, randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { nativeGcm } from "../../../../adapters/native/mod.ts";
import { plainBytesMax } from "../../../../lib/exports/file/counter.ts";
import type { GcmEncryption, GcmSecret } from "../../../../lib/exports/file/kernels.ts";
import { createExportCipher, partDecipher } from "../../../../lib/exports/file/mod.ts";
import { noblePrimitives, sliceBytes } from "../../../../lib/exports/file/noble_primitives.ts";
import { primitives } from "../../../../lib/exports/file/portable_primitives.ts";
import type { Primitives } from "../../../../lib/exports/file/primitives.ts";
import { webPieceBytesMax } from "../../../../lib/exports/file/web_cipher.ts";
import { webPrimitives } from "../../../../lib/exports/file/web_primitives.ts";

const web = webPrimitives(crypto.subtle);
const ciphers: Readonly<Record<string, (secret: GcmSecret) => GcmEncryption>> = {
  "node:crypto": nativeGcm,
  WebCrypto: web.gcm,
  noble: noblePrimitives.gcm,
};
const portable: Readonly<Record<string, Primitives>> = { WebCrypto: web, noble: noblePrimitives };

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

/** Encrypts in pieces of these sizes, in turn; each piece must come out as long as it went in. */
async function inPieces(cipher: GcmEncryption, plain: Uint8Array, sizes: () => number): Promise<Sealed> {
  const data: Uint8Array[] = [];
  for (let at = 0; at < plain.length; ) {
    const piece = plain.subarray(at, at + sizes());
    const sealed = await cipher.update(piece);
    assert.equal(sealed.length, piece.length);
    data.push(sealed);
    at += piece.length;
  }
  return { data: Buffer.concat(data), tag: Buffer.from(await cipher.finish()) };
}

function assertSame(actual: Sealed, expected: Sealed): void {
  assert.ok(actual.data.equals(expected.data), "the ciphertext differs");
  assert.deepEqual(actual.tag, expected.tag);
}

for (const [name, gcm] of Object.entries(ciphers)) {
  describe(`AES-256-GCM by ${name}`, () => {
    it("gives what one call gives, for every length around the blocks", async () => {
      for (const length of [0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 255, 256, 257]) {
        const [secret, plain] = [newSecret(), randomBytes(length)];
        assertSame(await inPieces(gcm(secret), plain, () => 1), oneShot(secret, plain));
        assertSame(await inPieces(gcm(secret), plain, () => 64), oneShot(secret, plain));
      }
    });

    it("gives what one call gives, however random bytes are cut", async () => {
      for (let round = 0; round < 12; round++) {
        const largest = 10 ** (1 + Math.random() * 5);
        const length = Math.random() * Math.min(700_000, 1_000 * largest);
        const [secret, plain] = [newSecret(), randomBytes(Math.floor(length))];
        const sealed = await inPieces(gcm(secret), plain, () => Math.floor(Math.random() * largest));
        assertSame(sealed, oneShot(secret, plain));
      }
    });

    it("gives what one call gives across the sizes that it works in", async () => {
      const plain = randomBytes(Math.max(webPieceBytesMax * 2, sliceBytes * 2) + 17);
      const secret = newSecret();
      assertSame(await inPieces(gcm(secret), plain, () => plain.length), oneShot(secret, plain));
    });

    it("leaves its input as it was", async () => {
      const plain = randomBytes(100);
      const copy = Buffer.from(plain);
      await inPieces(gcm(newSecret()), plain, () => 33);
      assert.deepEqual(plain, copy);
    });

    it("goes on where a cipher stopped, once it is fed what is already encrypted", async () => {
      const [secret, plain] = [newSecret(), randomBytes(100_000)];
      const first = gcm(secret);
      const stored = await first.update(plain.subarray(0, 48_000));
      const second = gcm(secret);
      const known = await partDecipher(secret).update(stored);
      assert.ok(Buffer.from(known).equals(plain.subarray(0, 48_000)));
      await second.update(known);
      const rest = await second.update(plain.subarray(48_000));
      const expected = oneShot(secret, plain);
      assert.ok(Buffer.concat([stored, rest]).equals(expected.data));
      assert.deepEqual(Buffer.from(await second.finish()), expected.tag);
    });
  });
}

for (const [name, { ctr, pbkdf2 }] of Object.entries(portable)) {
  describe(`${name}`, () => {
    it("gives the key stream of AES-256-CTR", async () => {
      const { key, iv } = newSecret();
      const plain = randomBytes(sliceBytes + 100);
      const counter = Buffer.concat([iv, Buffer.from([0, 0, 1, 255])]);
      const expected = createCipheriv("aes-256-ctr", key, counter).update(plain);
      assert.ok(expected.equals(await ctr(key, counter, plain)));
    });

    it("derives the key of PBKDF2-HMAC-SHA-256", async () => {
      const [password, salt] = [randomBytes(32), randomBytes(16)];
      const expected = pbkdf2Sync(password, salt, 1_000, 32, "sha256");
      assert.deepEqual(Buffer.from(await pbkdf2(password, salt, 1_000)), expected);
    });
  });
}

describe("noble's cipher", () => {
  it("lets others have their turn between its slices", async () => {
    let turns = 0;
    let isOver = false;
    function count(): void {
      turns += 1;
      if (!isOver) setImmediate(count);
    }
    const cipher = noblePrimitives.gcm(newSecret());
    await cipher.update(new Uint8Array(1));
    setImmediate(count);
    await cipher.update(new Uint8Array(sliceBytes * 5));
    isOver = true;
    assert.ok(turns >= 4, `${turns} turns`);
  });
});

describe("the decipher of parts", () => {
  it("decrypts from any position on, in pieces of any size", async () => {
    const [secret, plain] = [newSecret(), randomBytes(5_000)];
    const { data, tag } = oneShot(secret, plain);
    for (const offset of [0, 1, 15, 16, 17, 1_000, 4_999, 5_000]) {
      const decipher = partDecipher({ ...secret, offset });
      const pieces: Uint8Array[] = [];
      for (let at = offset; at < data.length; at += 333) {
        pieces.push(await decipher.update(data.subarray(at, at + 333)));
      }
      assert.ok(Buffer.concat(pieces).equals(plain.subarray(offset)), `from ${offset}`);
    }
    const peer = createDecipheriv("aes-256-gcm", secret.key, secret.iv).setAuthTag(tag);
    assert.ok(Buffer.concat([peer.update(data), peer.final()]).equals(plain));
  });
});

describe("the cipher of exports", () => {
  it("is the native one where it is brought, else that of WebCrypto, else that of noble", async () => {
    const secret = newSecret();
    const marked: GcmEncryption = { update: plain => plain, finish: () => new Uint8Array(16) };
    assert.equal(createExportCipher({ ...secret, kernels: { aes256Gcm: () => marked } }), marked);
    assert.equal(primitives(undefined), primitives());
    assert.equal(primitives(null), noblePrimitives);
    assertSame(
      await inPieces(createExportCipher(secret), Buffer.from("text"), () => 3),
      oneShot(secret, Buffer.from("text")),
    );
  });

  it("refuses a key or an iv of another length", () => {
    for (const [keyLength, ivLength] of [
      [16, 12],
      [31, 12],
      [33, 12],
      [32, 16],
      [32, 0],
    ] as const) {
      const secret = { key: randomBytes(keyLength), iv: randomBytes(ivLength) };
      assert.throws(() => createExportCipher(secret), RangeError);
      assert.throws(() => partDecipher(secret), RangeError);
    }
  });

  it("allows as many bytes as the counter has blocks for", () => {
    assert.equal(plainBytesMax, (2 ** 32 - 2) * 16);
  });
});
