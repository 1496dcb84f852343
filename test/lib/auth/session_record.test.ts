import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { recordKey, signRecord, verifyRecord } from "../../../lib/auth/mod.ts";
import { otherSecret, secret } from "./_setup.ts";

const signatureDigits = 64;

const record = {
  projectId: "project-1",
  externalId: "mzxw6ytboimzxw6ytboimzxw6ytboi23",
  userId: "0f8fad5b-d9cb-469f-a165-70867728950e",
  deviceId: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  timeStamp: 1_750_000_000,
  signUp: 1_700_000_000,
};
const key = recordKey(secret, record.projectId);

describe("the signature of a session record", () => {
  it("is 64 upper-case hexadecimal digits that a backend can compute with its own HMAC", () => {
    const message =
      "28:grandstand.session_record.v1,9:project-1,32:mzxw6ytboimzxw6ytboimzxw6ytboi23," +
      "36:0f8fad5b-d9cb-469f-a165-70867728950e,36:7c9e6679-7425-40de-944b-e07fc1f90ae7,10:1750000000,10:1700000000,";
    const signature = signRecord(key, record);
    assert.equal(signature.length, signatureDigits);
    assert.match(signature, /^[0-9A-F]{64}$/);
    assert.equal(signature, createHmac("sha256", key).update(message).digest("hex").toUpperCase());
  });
  it("verifies, and no longer after any one member was changed", () => {
    const signed = { ...record, signature: signRecord(key, record) };
    assert.ok(verifyRecord(key, signed));
    for (const change of [
      { projectId: "project-2" },
      { externalId: record.externalId.replace("m", "n") },
      { userId: record.deviceId },
      { deviceId: record.userId },
      { timeStamp: record.timeStamp + 1 },
      { signUp: record.signUp + 1 },
      { signature: signed.signature.toLowerCase() },
      { signature: signed.signature.slice(1) },
      { signature: "0".repeat(64) },
      { signature: "" },
    ]) {
      assert.equal(verifyRecord(key, { ...signed, ...change }), false, JSON.stringify(change));
    }
  });
  it("does not let text move from one member to the next", () => {
    const left = signRecord(key, { ...record, externalId: "ab", userId: "c" });
    const right = signRecord(key, { ...record, externalId: "a", userId: "bc" });
    assert.notEqual(left, right);
  });
  it("verifies under the key of its own project and deployment alone", () => {
    const signed = { ...record, signature: signRecord(key, record) };
    assert.equal(verifyRecord(recordKey(secret, "project-2"), signed), false);
    assert.equal(verifyRecord(recordKey(otherSecret, record.projectId), signed), false);
  });
  it("takes anything that a client may send as a record", () => {
    const signed = { ...record, signature: signRecord(key, record) };
    for (const change of [
      '{"userId": 5}',
      '{"signature": null}',
      '{"signature": ["A"]}',
      '{"timeStamp": "1750000000"}',
      '{"timeStamp": 1.5}',
      '{"deviceId": "\\ud800"}',
      '{"externalId": {"length": 3}}',
    ]) {
      assert.equal(verifyRecord(key, { ...signed, ...JSON.parse(change) }), false, change);
    }
  });
  it("is refused for times that are not integers", () => {
    assert.throws(() => signRecord(key, { ...record, timeStamp: 1.5 }), TypeError);
    assert.throws(() => signRecord(key, { ...record, signUp: Number.NaN }), TypeError);
  });
});
