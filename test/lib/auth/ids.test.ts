import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  base32,
  base64url,
  capabilityId,
  constantTimeEqual,
  fromBase64url,
  isUuid,
  systemClock,
  systemRandom,
  uuid,
} from "../../../lib/auth/crypto/mod.ts";

describe("uuid", () => {
  it("is version 4 with the RFC 9562 variant, made of the given bytes", () => {
    assert.equal(
      uuid(length => new Uint8Array(length)),
      "00000000-0000-4000-8000-000000000000",
    );
    assert.equal(
      uuid(length => new Uint8Array(length).fill(255)),
      "ffffffff-ffff-4fff-bfff-ffffffffffff",
    );
  });
  it("leaves the bytes of the generator alone", () => {
    const bytes = new Uint8Array(16);
    uuid(() => bytes);
    assert.deepEqual(bytes, new Uint8Array(16));
  });
  it("differs from call to call with the runtime's generator", () => {
    assert.equal(new Set(Array.from({ length: 1_000 }, () => uuid(systemRandom))).size, 1_000);
  });
  it("is recognised in either case and nothing else is", () => {
    assert.ok(isUuid(uuid(systemRandom)));
    assert.ok(isUuid("0F8FAD5B-D9CB-469F-A165-70867728950E"));
    for (const text of [
      "",
      "0f8fad5b-d9cb-469f-a165-70867728950",
      "0f8fad5b-d9cb-469f-a165-70867728950e0",
      "0f8fad5bd9cb469fa16570867728950e",
      "0f8fad5b-d9cb-469f-a165-70867728950g",
      "0f8fad5b-d9cb-469f-a165-70867728950e\n",
      "{0f8fad5b-d9cb-469f-a165-70867728950e}",
    ]) {
      assert.equal(isUuid(text), false, text);
    }
  });
});

describe("capabilityId", () => {
  it("is 160 bits as 32 characters of lower-case base32", () => {
    assert.equal(
      capabilityId(length => new Uint8Array(length)),
      "a".repeat(32),
    );
    assert.match(capabilityId(systemRandom), /^[a-z2-7]{32}$/);
  });
});

describe("systemRandom", () => {
  it("returns as many bytes as are asked for, and none of them twice", () => {
    const lengths = Array.from({ length: 3_000 }, (_, index) => 8 + (index % 150));
    const drawn = lengths.map(length => systemRandom(length));
    assert.deepEqual(
      drawn.map(({ length }) => length),
      lengths,
    );
    const octets = drawn.flatMap(bytes =>
      Array.from({ length: bytes.length >> 3 }, (_, index) =>
        base64url(bytes.slice(index * 8, index * 8 + 8)),
      ),
    );
    assert.equal(new Set(octets).size, octets.length);
  });
  it("returns bytes of the caller's own", () => {
    const [first, second] = [systemRandom(16), systemRandom(16)];
    const before = base64url(second);
    new Uint8Array(first.buffer).fill(0);
    assert.equal(base64url(second), before);
  });
});

describe("constantTimeEqual", () => {
  it("compares texts and bytes", () => {
    assert.ok(constantTimeEqual("", ""));
    assert.ok(constantTimeEqual("süß", "süß"));
    assert.equal(constantTimeEqual("abc", "abd"), false);
    assert.equal(constantTimeEqual("abc", "ab"), false);
    assert.equal(constantTimeEqual("a\u0100", "a\u0000"), false);
    assert.ok(constantTimeEqual(Uint8Array.of(1, 2), Uint8Array.of(1, 2)));
    assert.equal(constantTimeEqual(Uint8Array.of(1, 2), Uint8Array.of(1, 3)), false);
    assert.equal(constantTimeEqual(Uint8Array.of(0), Uint8Array.of()), false);
  });
  it("looks at every unit although the first differs", () => {
    const touched: number[] = [];
    const spy = new Proxy(Uint8Array.of(9, 0, 0), {
      get(target, member) {
        if (typeof member === "string" && /^[0-9]$/.test(member)) touched.push(Number(member));
        return Reflect.get(target, member, target);
      },
    });
    assert.equal(constantTimeEqual(spy, Uint8Array.of(1, 0, 0)), false);
    assert.deepEqual(touched, [0, 1, 2]);
  });
});

describe("encodings", () => {
  it("have the base32 of RFC 4648, section 10, in lower case", () => {
    const vectors = {
      "": "",
      f: "my",
      fo: "mzxq",
      foo: "mzxw6",
      foob: "mzxw6yq",
      fooba: "mzxw6ytb",
      foobar: "mzxw6ytboi",
    };
    for (const [text, expected] of Object.entries(vectors)) assert.equal(base32(Buffer.from(text)), expected);
  });
  it("have the base64url of the runtime", () => {
    const lengths = [...Array(70).keys(), 4_095, 4_096, 4_097, 65_536];
    for (const length of lengths) {
      const bytes = systemRandom(length);
      const text = Buffer.from(bytes).toString("base64url");
      assert.equal(base64url(bytes), text);
      assert.deepEqual(fromBase64url(text), bytes);
    }
  });
  it("refuse base64url with padding, with other characters and of impossible length", () => {
    for (const text of ["YQ==", "Y+Q/", "A", "YW Jj", "YWJj\n"])
      assert.equal(fromBase64url(text), undefined, text);
  });
});

describe("the system environment", () => {
  it("has the time of the machine", () => {
    const before = Date.now();
    const now = systemClock();
    assert.ok(before <= now && now <= Date.now());
  });
});
