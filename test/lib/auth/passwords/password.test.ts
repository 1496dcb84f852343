import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nativeKernels } from "../../../../adapters/native/mod.ts";
import { systemRandom } from "../../../../lib/auth/crypto/mod.ts";
import { createPasswordHasher, dummyHash, passwordCosts } from "../../../../lib/auth/passwords/mod.ts";
import { quickHasher } from "./_setup.ts";

const argon2idCostMax = { memoryKib: 262_144, passes: 10, parallelism: 4 };
const scryptCostMax = { logN: 17, r: 16, p: 10 };

const password = "correct horse battery staple";
const rfc7914Key = Buffer.from(
  "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2" +
    "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887",
  "hex",
)
  .toString("base64")
  .replaceAll("=", "");

describe("hashing a password", () => {
  it("gives a PHC string of scrypt with N=2^15, r=8, p=3, a salt of 16 and a key of 32 bytes", async () => {
    const { hasher, asked } = quickHasher();
    const phc = await hasher.hash(password);
    assert.match(phc, /^\$scrypt\$ln=15,r=8,p=3\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    assert.deepEqual(asked, [{ algorithm: "scrypt", cost: { logN: 15, r: 8, p: 3 }, length: 32 }]);
  });

  it("makes a PHC string of Argon2id with m=19456, t=2, p=1 by choice", async () => {
    const { hasher } = quickHasher({ cost: passwordCosts.argon2id });
    assert.match(await hasher.hash(password), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$]{22}\$[^$]{43}$/);
  });

  it("never gives the same text twice", async () => {
    const { hasher } = quickHasher();
    assert.notEqual(await hasher.hash(password), await hasher.hash(password));
  });

  it("refuses a password with a lone surrogate", async () => {
    const { hasher } = quickHasher();
    await assert.rejects(hasher.hash("eight\ud800chars"), TypeError);
  });

  it("refuses Argon2id without a native function", () => {
    const options = { random: systemRandom, kernels: {}, cost: passwordCosts.argon2id };
    assert.throws(() => createPasswordHasher(options), RangeError);
  });

  it("refuses a cost that it would not verify", () => {
    const cost = { algorithm: "scrypt", logN: 18, r: 8, p: 1 } as const;
    assert.throws(() => createPasswordHasher({ random: systemRandom, cost }), RangeError);
  });
});

describe("verifying a password", () => {
  it("accepts the password and nothing near it", async () => {
    const { hasher } = quickHasher();
    const phc = await hasher.hash(" Straße é ");
    assert.deepEqual(await hasher.verify(phc, " Straße é "), { ok: true, needsRehash: false });
    for (const other of ["Straße é", " straße é ", " STRASSE É ", " Straße e ", " Straße é", ""]) {
      assert.deepEqual(await hasher.verify(phc, other), { ok: false, needsRehash: false }, other);
    }
  });

  it("distinguishes long passwords by their last character", async () => {
    const { hasher } = quickHasher();
    const phc = await hasher.hash("x".repeat(1_024));
    assert.equal((await hasher.verify(phc, "x".repeat(1_024))).ok, true);
    assert.equal((await hasher.verify(phc, `${"x".repeat(1_023)}y`)).ok, false);
  });

  it("takes no lone surrogate for the replacement character", async () => {
    const { hasher } = quickHasher();
    const phc = await hasher.hash("eight\ufffdchars");
    assert.equal((await hasher.verify(phc, "eight\ufffdchars")).ok, true);
    assert.equal((await hasher.verify(phc, "eight\ud800chars")).ok, false);
  });

  it("runs exactly one derivation for a right, wrong, unknown, malformed and unbounded hash", async () => {
    const { hasher, asked } = quickHasher();
    const phc = await hasher.hash(password);
    const beyond = `$scrypt$ln=18,r=8,p=3${phc.slice(hasher.id.length)}`;
    const cases = [phc, dummyHash(hasher), "", "plain text", "$bcrypt$", beyond, phc.slice(0, -43)];
    for (const stored of cases) {
      for (const attempt of [password, "wrong", "lone\ud800surrogate"]) {
        asked.length = 0;
        const { ok } = await hasher.verify(stored, attempt);
        assert.equal(ok, stored === phc && attempt === password, stored);
        assert.equal(asked.length, 1, stored);
      }
    }
  });

  it("derives for an unknown user at the same cost", async () => {
    for (const cost of Object.values(passwordCosts)) {
      const { hasher, asked } = quickHasher({ cost });
      const known = await hasher.hash(password);
      asked.length = 0;
      for (const stored of [known, dummyHash(hasher), "malformed"]) await hasher.verify(stored, password);
      assert.equal(asked.length, 3);
      assert.deepEqual(asked[1], asked[0]);
      assert.deepEqual(asked[2], asked[0]);
    }
  });

  it("computes up to the bounds of stored costs and never beyond", async () => {
    const rest = "$c29tZXNhbHRzb21lc2FsdA$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
    const { logN, r, p } = scryptCostMax;
    const { memoryKib, passes, parallelism } = argon2idCostMax;
    const { hasher, asked } = quickHasher();
    const scrypt = (...[ln, rr, pp]: number[]): string => `$scrypt$ln=${ln},r=${rr},p=${pp}${rest}`;
    const argon2id = (...[m, t, pp]: number[]): string => `$argon2id$v=19$m=${m},t=${t},p=${pp}${rest}`;
    async function askedFor(stored: string): Promise<unknown> {
      asked.length = 0;
      await hasher.verify(stored, password);
      return asked[0]?.cost;
    }
    assert.deepEqual(await askedFor(scrypt(logN, r, p)), { logN: 17, r: 16, p: 10 });
    assert.deepEqual(await askedFor(argon2id(memoryKib, passes, parallelism)), {
      memoryKib: 262_144,
      passes: 10,
      parallelism: 4,
    });
    const beyond = [
      scrypt(logN + 1, r, p),
      scrypt(logN, r + 1, p),
      scrypt(logN, r, p + 1),
      scrypt(0, r, p),
      argon2id(memoryKib + 1, passes, parallelism),
      argon2id(memoryKib, passes + 1, parallelism),
      argon2id(memoryKib, passes, parallelism + 1),
      argon2id(31, passes, parallelism),
      scrypt(15, 8, 3).replace("$c29tZXNhbHRzb21lc2FsdA", "$c2FsdA"),
      `${scrypt(15, 8, 3)}${"A".repeat(512)}`,
    ];
    for (const stored of beyond) {
      assert.deepEqual(await askedFor(stored), { logN: 15, r: 8, p: 3 }, stored);
    }
  });
});

describe("a hash of another kind than new ones", () => {
  it("is verified, and needs a rehash if the password is right", async () => {
    const scrypt = quickHasher().hasher;
    const cheap = quickHasher({ cost: { algorithm: "scrypt", logN: 14, r: 8, p: 3 } }).hasher;
    const argon2id = quickHasher({ cost: passwordCosts.argon2id }).hasher;
    for (const [older, newer] of [
      [cheap, scrypt],
      [scrypt, argon2id],
      [argon2id, scrypt],
    ] as const) {
      const stored = await older.hash(password);
      assert.deepEqual(await newer.verify(stored, password), { ok: true, needsRehash: true });
      assert.deepEqual(await newer.verify(stored, "wrong"), { ok: false, needsRehash: false });
      assert.deepEqual(await older.verify(stored, password), { ok: true, needsRehash: false });
    }
  });
});

describe("the kernels", () => {
  it("verify what the reference implementations made, natively and portably", async () => {
    const samples = [
      // The Argon2 reference implementation's own test of Argon2id.
      ["password", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"],
      // RFC 7914, section 12.
      ["pleaseletmein", `$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$${rfc7914Key}`],
    ] as const;
    for (const kernels of [nativeKernels(), {}]) {
      const hasher = createPasswordHasher({ random: systemRandom, kernels });
      for (const [sample, stored] of samples) {
        assert.deepEqual(await hasher.verify(stored, sample), { ok: true, needsRehash: true }, stored);
        assert.equal((await hasher.verify(stored, sample.toUpperCase())).ok, false, stored);
      }
    }
  });

  it("give the same bytes natively and portably at the default cost", async () => {
    const native = createPasswordHasher({ random: systemRandom, kernels: nativeKernels() });
    const portable = createPasswordHasher({ random: systemRandom });
    assert.equal(native.id, portable.id);
    assert.equal((await portable.verify(await native.hash(password), password)).ok, true);
  });
});
