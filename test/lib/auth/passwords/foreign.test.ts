/** Password hashes of other systems: test vectors of theirs, and what is malformed or ruinously costly. */

import assert from "node:assert/strict";
import { pbkdf2Sync } from "node:crypto";
import { describe, it } from "node:test";
import { systemRandom } from "../../../../lib/auth/crypto/mod.ts";
import { createPasswordHasher } from "../../../../lib/auth/passwords/mod.ts";

const signer = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==";
const firebaseHash =
  "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==";
const firebase = (costs = "n=14,r=8,p=1", key = signer, hash = firebaseHash): string =>
  `$fbscrypt$v=1,${costs},ss=Bw==,sk=${key}$42xEC+ixf3L2lw==$${hash}`;

function pbkdf2(iterations: number, bits: 256 | 512, length = 32): string {
  const salt = Buffer.from("salt of the club");
  const key = pbkdf2Sync("user1password", salt, iterations, length, `sha${bits}`);
  return `$pbkdf2-sha${bits}$i=${iterations},l=${length}$${salt.toString("base64")}$${key.toString("base64")}`;
}

const bcrypt = `$2y$12$${"a".repeat(53)}`;
const hasher = createPasswordHasher({
  random: systemRandom,
  kernels: {
    bcrypt: async (password, hash) => password === "user1password" && hash === bcrypt.replace("2y", "2b"),
  },
});

describe("a password hash of another system", () => {
  for (const [name, hash] of [
    ["Firebase", firebase()],
    ["PBKDF2 with SHA-256", pbkdf2(1_000, 256)],
    ["PBKDF2 with SHA-512", pbkdf2(10_000, 512, 64)],
    ["bcrypt", bcrypt],
  ] as const) {
    it(`of ${name} is verified, and replaced afterwards`, async () => {
      assert.ok(hasher.accepts(hash));
      assert.deepEqual(await hasher.verify(hash, "user1password"), { ok: true, needsRehash: true });
      assert.deepEqual(await hasher.verify(hash, "user2password"), { ok: false, needsRehash: false });
      assert.deepEqual(await hasher.verify(hash, "\ud800"), { ok: false, needsRehash: false });
    });
  }

  it("is refused where it is malformed or beyond a bound", () => {
    const key = (bytes: number): string => Buffer.alloc(bytes).toString("base64");
    for (const hash of [
      firebase("n=18,r=8,p=1"),
      firebase("n=14,r=17,p=1"),
      firebase("n=0,r=8,p=1"),
      firebase("n=14,r=8,p=2"),
      firebase(undefined, "Bw=="),
      firebase(undefined, key(8), key(8)),
      firebase(undefined, "%"),
      pbkdf2(1_000, 256).replace("i=1000", "i=999"),
      pbkdf2(1_000, 256).replace("i=1000", "i=1000001"),
      pbkdf2(1_000, 256).replace("l=32", "l=33"),
      pbkdf2(1_000, 256).replace("sha256", "md5"),
      `$pbkdf2-sha256$i=1000$${key(3)}$${key(32)}`,
      `$pbkdf2-sha256$i=1000$${key(65)}$${key(32)}`,
      `$pbkdf2-sha256$i=1000$${key(8)}$${key(15)}`,
      `$pbkdf2-sha256$i=1000$${key(8)}$${key(65)}`,
      bcrypt.replace("$12$", "$13$"),
      bcrypt.replace("$12$", "$03$"),
      `${bcrypt}a`,
      `$scrypt$ln=18,r=8,p=1$${key(16)}$${key(32)}`.replaceAll("=$", "$"),
      "$argon2id$v=19$m=262145,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
      "5f4dcc3b5aa765d61d8327deb882cf99",
      "",
    ]) {
      assert.ok(!hasher.accepts(hash), hash);
    }
    for (const hash of [
      pbkdf2(1_000, 256),
      `$pbkdf2-sha256$i=1000000$${key(4)}$${key(16)}`,
      firebase("n=17,r=16,p=1"),
    ])
      assert.ok(hasher.accepts(hash), hash);
    assert.ok(
      !createPasswordHasher({ random: systemRandom }).accepts(bcrypt),
      "nothing verifies bcrypt there",
    );
  });
});
