import assert from "node:assert/strict";
import { hkdfSync } from "node:crypto";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { deriveKey, generateMasterSecret, systemRandom } from "../../../lib/auth/crypto/mod.ts";
import { MasterSecret } from "../../../lib/auth/mod.ts";
import { otherSecret, secret } from "./_setup.ts";

const masterSecretBytesMin = 32;
const masterSecretHexDigitsMin = 64;
const masterSecretVarietyMin = 10;

describe("the master secret", () => {
  it("is refused when it is shorter than 32 bytes, with a word on how to make one", () => {
    const short = "abcdefghijklmnopqrstuvwxyz012345".slice(0, masterSecretBytesMin - 1);
    assert.throws(() => new MasterSecret(short), { name: "RangeError", message: /31 bytes.*openssl rand/ });
    assert.doesNotThrow(() => new MasterSecret(`${short}!`));
  });
  it("is refused as hexadecimal of fewer than 64 digits, which is half the bytes", () => {
    const hex = "0123456789abcdef".repeat(4);
    assert.equal(hex.length, masterSecretHexDigitsMin);
    assert.throws(() => new MasterSecret(hex.slice(1)), {
      name: "RangeError",
      message: /63 hexadecimal.*openssl/,
    });
    assert.doesNotThrow(() => new MasterSecret(hex));
  });
  it("is refused when it is a few characters over and over", () => {
    const uniform = "abcdefghi".repeat(8);
    assert.equal(new Set(uniform).size, masterSecretVarietyMin - 1);
    assert.throws(() => new MasterSecret(uniform), {
      name: "RangeError",
      message: /different characters.*openssl/,
    });
    assert.doesNotThrow(() => new MasterSecret(`${uniform}j`));
  });
  it("counts bytes and not characters", () => {
    assert.doesNotThrow(() => new MasterSecret("äöüßéèêàâçñø€≤≥∞"));
  });
  it("can be generated", () => {
    const generated = generateMasterSecret(systemRandom);
    assert.doesNotThrow(() => new MasterSecret(generated));
    assert.notEqual(generated, generateMasterSecret(systemRandom));
  });
  it("does not show itself when printed or serialised", () => {
    assert.equal(JSON.stringify({ secret }), '{"secret":{}}');
    assert.doesNotMatch(inspect(secret, { showHidden: true, depth: 9 }), /horse|staple|Uint8Array/);
  });
});

describe("deriveKey", () => {
  it("is HKDF-SHA-256 as the runtime's own crypto has it", () => {
    const info = "20:grandstand.key.v1".replace("20:", "17:");
    const expected = hkdfSync(
      "sha256",
      "correct horse battery staple, twice over",
      "grandstand.master.v1",
      `${info},7:purpose,1:a,`,
      32,
    );
    assert.deepEqual(deriveKey(secret, "purpose", "a"), new Uint8Array(expected));
  });
  it("gives the same key for the same arguments and another for any other", () => {
    assert.deepEqual(deriveKey(secret, "a", "b"), deriveKey(secret, "a", "b"));
    const others = [
      deriveKey(secret, "a"),
      deriveKey(secret, "ab"),
      deriveKey(secret, "a", "b", ""),
      deriveKey(secret, "", "ab"),
      deriveKey(secret, "a", "b,1:c"),
      deriveKey(secret, "a", "b", "c"),
      deriveKey(secret, "b", "a"),
      deriveKey(otherSecret, "a", "b"),
    ].map(key => key.join());
    assert.equal(new Set([...others, deriveKey(secret, "a", "b").join()]).size, others.length + 1);
  });
  it("refuses a context that UTF-8 cannot carry", () => {
    assert.throws(() => deriveKey(secret, "a", "\ud800"), TypeError);
  });
});
