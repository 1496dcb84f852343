import assert from "node:assert/strict";
import { createDecipheriv } from "node:crypto";
import { describe, it } from "node:test";
import { deriveKey, seal, unseal } from "../../../lib/auth/crypto/mod.ts";
import { createTestRandom, otherSecret, secret } from "./_setup.ts";

const sealedTextBytesMax = 65_536;

const key = deriveKey(secret, "test");
const context = ["record", "field"];
const random = createTestRandom();

describe("seal and open", () => {
  it("give the text back, whatever it holds", async () => {
    for (const text of ["", "x", "ünï😀\u0000", "\ufeffbom", "a".repeat(sealedTextBytesMax)]) {
      assert.equal(await unseal([key], await seal(key, text, { context, random }), { context }), text);
    }
  });
  it("are AES-256-GCM as the runtime's own crypto has it", async () => {
    const bytes = Buffer.from(
      (await seal(key, "hello", { context, random })).slice("v1.".length),
      "base64url",
    );
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12));
    decipher.setAAD(Buffer.from("18:grandstand.seal.v1,6:record,5:field,"));
    decipher.setAuthTag(bytes.subarray(-16));
    assert.equal(
      decipher.update(bytes.subarray(12, -16), undefined, "utf8") + decipher.final("utf8"),
      "hello",
    );
  });
  it("seal one text differently each time", async () => {
    assert.notEqual(await seal(key, "x", { context, random }), await seal(key, "x", { context, random }));
  });
  it("refuse another key, another context, and another split of the context", async () => {
    const sealed = await seal(key, "x", { context, random });
    assert.equal(await unseal([deriveKey(otherSecret, "test")], sealed, { context }), undefined);
    assert.equal(await unseal([key], sealed, { context: ["record", "other"] }), undefined);
    assert.equal(await unseal([key], sealed, { context: ["recordfield"] }), undefined);
    assert.equal(await unseal([key], sealed, { context: [] }), undefined);
  });
  it("refuse a text in which any one character was changed", async () => {
    const sealed = await seal(key, "hello", { context, random });
    for (let index = 0; index < sealed.length; index++) {
      const changed = sealed[index] === "A" ? "Q" : "A";
      const forged = sealed.slice(0, index) + changed + sealed.slice(index + 1);
      assert.equal(await unseal([key], forged, { context }), undefined, forged);
    }
  });
  it("refuse what was never sealed", async () => {
    for (const text of ["", "v1.", "v1.AAAA", "v2.AAAA", "v1.!!!!", `v1.${"A".repeat(16)}`, "v1.A"]) {
      assert.equal(await unseal([key], text, { context }), undefined, text);
    }
  });
  it("refuse to seal more than the bound", async () => {
    await assert.rejects(seal(key, "a".repeat(sealedTextBytesMax + 1), { context, random }), RangeError);
  });
});
