/** Bounds of salt and key in a stored hash: the bound itself is accepted, one byte more is not. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatPhc, parsePhc, passwordCosts, phcPrefix } from "../../../../lib/auth/passwords/mod.ts";

const keyBytesMax = 64;
const keyBytesMin = 16;
const saltBytesMax = 64;
const saltBytesMin = 8;

const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(0xa5);

describe("a stored hash", () => {
  const bounds = [
    ["salt", saltBytesMin, saltBytesMax],
    ["key", keyBytesMin, keyBytesMax],
  ] as const;
  for (const [part, least, most] of bounds) {
    it(`is read where its ${part} has ${least} to ${most} bytes`, () => {
      for (const cost of Object.values(passwordCosts)) {
        const parsed = (length: number): ReturnType<typeof parsePhc> => {
          const sized = { salt: bytes(16), key: bytes(32), [part]: bytes(length) };
          return parsePhc(formatPhc(phcPrefix(cost), sized));
        };
        assert.deepEqual([parsed(least)?.[part], parsed(most)?.[part]], [bytes(least), bytes(most)]);
        assert.deepEqual([parsed(least - 1), parsed(most + 1)], [undefined, undefined]);
      }
    });
  }
});
