/** Base64 of large data. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { nativeExportKernels } from "../../../../../adapters/native/mod.ts";
import { Base64Decoder, base64Bytes, fromBase64 } from "../../../../../lib/fans/exports/file/base64.ts";

const encoders = {
  native: nativeExportKernels().base64,
  portable: (bytes: Uint8Array) => base64Bytes(bytes),
};

const lengths = [
  ...Array.from({ length: 70 }, (_, length) => length),
  49_151,
  49_152,
  49_153,
  98_304,
  98_305,
  196_607,
  196_608,
  196_609,
];

function decode(text: string, step: number = text.length): Buffer {
  const decoder = new Base64Decoder();
  const bytes = Buffer.from(text, "latin1");
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += step) pieces.push(decoder.update(bytes.subarray(at, at + step)));
  return Buffer.concat(pieces);
}

for (const [name, encode] of Object.entries(encoders)) {
  it(`the ${name} encoder of Base64 matches Buffer for every length`, () => {
    for (const length of lengths) {
      const bytes = randomBytes(length);
      assert.equal(Buffer.from(encode(bytes)).toString("latin1"), bytes.toString("base64"), `${length}`);
    }
  });
}

describe("the encoder of Base64", () => {
  it("is the native one if there is one", () => {
    const native = Uint8Array.of(1);
    assert.equal(base64Bytes(new Uint8Array(3), { base64: () => native }), native);
  });
});

describe("the decoder of Base64", () => {
  it("returns what was encoded, in pieces of any multiple of four", () => {
    for (const length of lengths) {
      const bytes = randomBytes(length);
      const text = bytes.toString("base64");
      assert.ok(decode(text).equals(bytes), `${length}`);
      assert.ok(decode(text, 4).equals(bytes), `${length} by 4`);
      assert.ok(decode(text, 1_000).equals(bytes), `${length} by 1,000`);
    }
  });

  it("rejects text that is not canonical", () => {
    const wrong = [
      "A",
      "AA",
      "AAA",
      "AAAAA",
      "=",
      "====",
      "A===",
      "AA=A",
      "A=AA",
      "AB==",
      "AAB=",
      "AA==AAAA",
      "AAA=AAAA",
      "AA\nA",
      "AAA ",
      "AAAA\n",
      "AA-_",
      "AAA\u0000",
      "AAA\u00ff",
      "AAA.",
    ];
    for (const text of wrong) {
      assert.throws(() => decode(text), { code: "validation_failed" }, JSON.stringify(text));
      assert.equal(fromBase64(text), undefined, JSON.stringify(text));
    }
    assert.throws(() => decode("AA==AAAA", 4), { code: "validation_failed" });
  });

  it("accepts every digit in every position, and nothing else", () => {
    for (let code = 0; code < 256; code++) {
      const character = String.fromCharCode(code);
      for (const text of [`${character}AAA`, `A${character}AA`, `AA${character}A`]) {
        const isDigit = /[A-Za-z0-9+/]/.test(character);
        if (isDigit) assert.ok(decode(text).equals(Buffer.from(text, "base64")));
        else assert.throws(() => decode(text), { code: "validation_failed" }, JSON.stringify(text));
      }
    }
  });
});
