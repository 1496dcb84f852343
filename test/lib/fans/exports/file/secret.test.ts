/** Passwords and keys of exports. */

import assert from "node:assert/strict";
import { pbkdf2Sync, randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { exportKey, newExportSecret } from "../../../../../lib/fans/exports/file/secret.ts";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Returns the given bytes in turn, again and again. */
function repeating(bytes: readonly number[]): (length: number) => Uint8Array {
  let next = 0;
  return length => Uint8Array.from({ length }, () => bytes[next++ % bytes.length] ?? 0);
}

describe("the secret of an export", () => {
  it("is 32 characters of 62, a salt of 16 bytes and an iv of 12", () => {
    const { password, salt, iv } = newExportSecret(randomBytes);
    assert.match(password, /^[A-Za-z0-9]{32}$/);
    assert.deepEqual([salt.length, iv.length], [16, 12]);
  });

  it("takes each character from four of 248 bytes, and skips the other eight", () => {
    const counts = new Map<string, number>();
    for (let byte = 0; byte < 256; byte++) {
      const { password } = newExportSecret(repeating([byte, 61]));
      const character = password.charAt(0);
      if (byte >= 248) assert.equal(password, "9".repeat(32), `byte ${byte} is skipped`);
      else counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    assert.deepEqual([...counts.keys()].sort(), [...alphabet].sort());
    assert.deepEqual(new Set(counts.values()), new Set([4]));
  });

  it("differs each time", () => {
    const texts = Array.from({ length: 100 }, () => JSON.stringify(newExportSecret(randomBytes)));
    assert.equal(new Set(texts).size, 100);
  });

  it("is turned into a key by 600,000 rounds of PBKDF2-HMAC-SHA-256", async () => {
    const { password, salt } = newExportSecret(randomBytes);
    const expected = pbkdf2Sync(password, salt, 600_000, 32, "sha256");
    assert.deepEqual(Buffer.from(await exportKey(password, salt)), expected);
  });
});
