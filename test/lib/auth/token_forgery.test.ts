import assert from "node:assert/strict";
import { createHmac, createSign, generateKeyPairSync, sign as signBytes } from "node:crypto";
import { before, describe, it } from "node:test";
import { clockSkewSecondsMax } from "../../../lib/auth/tokens/key_ring.ts";
import { type Claims, tokenCharsMax, tokenTtlSecondsMax } from "../../../lib/auth/tokens/mod.ts";
import {
  assertRefused,
  content,
  createSubject,
  decode,
  encode,
  expected,
  type Subject,
} from "./_token_setup.ts";

describe("a forged or altered token", () => {
  let subject: Subject;
  let token: string;
  let header: Record<string, unknown>;
  let payload: Record<string, unknown>;
  /** Signs any header and payload text with the ring's own key, so that only their content can be at fault. */
  let forge: (header: unknown, payload: unknown) => Promise<string>;

  before(async () => {
    subject = await createSubject();
    token = await subject.tokens.sign(content);
    const parts = token.split(".");
    header = decode(parts[0]);
    payload = decode(parts[1]);
    const { privateKey } = await subject.ring.signer();
    forge = async (forgedHeader, forgedPayload) => {
      const input = `${encode(forgedHeader)}.${encode(forgedPayload)}`;
      const signature = await crypto.subtle.sign("Ed25519", privateKey, Buffer.from(input));
      return `${input}.${Buffer.from(signature).toString("base64url")}`;
    };
  });

  it("is accepted only in this form, which shows that the forger below works", async () => {
    assert.equal((await subject.tokens.verify(await forge(header, payload), expected)).sub, "user-1");
  });
  it("is refused with alg none in any spelling", async () => {
    for (const alg of ["none", "None", "NONE", ""]) {
      const input = `${encode({ ...header, alg })}.${encode(payload)}`;
      for (const forged of [`${input}.`, input, `${input}.AAAA`])
        await assertRefused(subject.tokens, forged, alg);
    }
  });
  it("is refused when the public key was used as an HMAC secret", async () => {
    const [key] = (await subject.ring.jwks()).keys;
    const x = String(key?.x);
    for (const hmacKey of [x, Buffer.from(x, "base64url"), JSON.stringify(key)]) {
      const input = `${encode({ ...header, alg: "HS256" })}.${encode(payload)}`;
      const mac = createHmac("sha256", hmacKey).update(input).digest("base64url");
      await assertRefused(subject.tokens, `${input}.${mac}`, "HS256");
      const keepAlg = `${encode(header)}.${encode(payload)}`;
      const sameAlg = createHmac("sha256", hmacKey).update(keepAlg).digest("base64url");
      await assertRefused(subject.tokens, `${keepAlg}.${sameAlg}`, "EdDSA with an HMAC");
    }
  });
  it("is refused with another algorithm than that of its key, although the signature is good", async () => {
    for (const alg of ["Ed25519", "ES256", "RS256", "eddsa", null, 5, ["EdDSA"]]) {
      await assertRefused(subject.tokens, await forge({ ...header, alg }, payload), String(alg));
    }
  });
  it("is refused when another key signed it under our kid", async () => {
    const input = `${encode(header)}.${encode(payload)}`;
    const { privateKey } = generateKeyPairSync("ed25519");
    const signature = signBytes(null, Buffer.from(input), privateKey).toString("base64url");
    await assertRefused(subject.tokens, `${input}.${signature}`, "foreign key");
  });
  it("is refused when an RSA key signed it under our kid", async () => {
    const input = `${encode({ ...header, alg: "RS256" })}.${encode(payload)}`;
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const signature = createSign("sha256").update(input).sign(privateKey, "base64url");
    await assertRefused(subject.tokens, `${input}.${signature}`, "RS256");
  });
  it("is refused for a kid that is unknown, a prototype, a path, a query or no text", async () => {
    const kids = [
      "__proto__",
      "constructor",
      "toString",
      "../../../dev/null",
      "' OR 1=1 --",
      "",
      "x".repeat(4_000),
      `${String(header.kid)}\u0000`,
      null,
      0,
      { kid: header.kid },
      [header.kid],
      undefined,
    ];
    for (const kid of kids)
      await assertRefused(subject.tokens, await forge({ ...header, kid }, payload), String(kid));
  });
  it("does not bring its own key: jku, x5u, jwk and x5c are never read", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const jwk = publicKey.export({ format: "jwk" });
    const url = "https://attacker.example/keys";
    for (const extra of [{ jwk }, { jku: url }, { x5u: url }, { x5c: ["MIIB"] }, { jwk, kid: undefined }]) {
      const input = `${encode({ ...header, ...extra })}.${encode(payload)}`;
      const signature = signBytes(null, Buffer.from(input), privateKey).toString("base64url");
      await assertRefused(subject.tokens, `${input}.${signature}`, JSON.stringify(extra));
    }
    const selfSigned = await forge({ ...header, jku: url, jwk }, payload);
    assert.equal((await subject.tokens.verify(selfSigned, expected)).sub, "user-1");
  });
  it("is refused with critical extensions", async () => {
    for (const extra of [{ crit: ["exp"] }, { crit: [] }, { b64: false }, { b64: false, crit: ["b64"] }]) {
      await assertRefused(
        subject.tokens,
        await forge({ ...header, ...extra }, payload),
        JSON.stringify(extra),
      );
    }
  });
  it("is refused when it is another kind of token", async () => {
    for (const typ of ["rt+jwt", "pt+jwt", "JWT", "AT+JWT", "application/at+jwt", "", null, undefined]) {
      await assertRefused(subject.tokens, await forge({ ...header, typ }, payload), String(typ));
    }
  });
  it("is refused for a claim that is missing, wrong or of the wrong type", async () => {
    const { iat, exp } = payload as unknown as Claims;
    for (const change of [
      { iss: "https://other.example" },
      { iss: "https://id.example/" },
      { iss: [expected.issuer] },
      { iss: undefined },
      { aud: "other" },
      { aud: [] },
      { aud: [["https://api.example"]] },
      { aud: [expected.audience, 5] },
      { aud: undefined },
      { sub: "" },
      { sub: 5 },
      { sub: undefined },
      { exp: undefined },
      { exp: String(exp) },
      { exp: null },
      { exp: -1 },
      { exp: 1e300 },
      { exp: exp + 0.5 },
      { iat: iat - 0.5 },
      { exp: iat },
      { exp: iat + tokenTtlSecondsMax + 1 },
      { iat: undefined },
      { iat: "1" },
      { iat: iat + clockSkewSecondsMax + 2 },
      { nbf: iat + clockSkewSecondsMax + 2 },
      { nbf: "0" },
    ]) {
      await assertRefused(
        subject.tokens,
        await forge(header, { ...payload, ...change }),
        JSON.stringify(change),
      );
    }
  });
  it("is refused when its payload is no JSON object", async () => {
    for (const text of ["", "null", "[]", "5", "{", '"x"', "\ufeff{}"]) {
      await assertRefused(subject.tokens, await forge(header, text), text);
    }
  });
  it("is refused when its header is no JSON object", async () => {
    const [, body, signature] = token.split(".");
    for (const text of ["null", "[]", "5", "{", '"x"']) {
      await assertRefused(subject.tokens, `${encode(text)}.${body}.${signature}`, text);
    }
    const notUtf8 = Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url");
    await assertRefused(subject.tokens, `${notUtf8}.${body}.${signature}`, "not UTF-8");
  });
  it("is refused after any one character was changed", async () => {
    // The last character of an Ed25519 signature carries four bits that mean nothing, so it is left out.
    for (let index = 0; index < token.length - 1; index += 3) {
      const changed = token[index] === "A" ? "Q" : "A";
      if (token[index] === ".") continue;
      await assertRefused(
        subject.tokens,
        token.slice(0, index) + changed + token.slice(index + 1),
        `at ${index}`,
      );
    }
  });
  it("is refused when truncated anywhere", async () => {
    for (let length = 0; length < token.length; length += 7) {
      await assertRefused(subject.tokens, token.slice(0, length), `${length} characters`);
    }
  });
  it("is refused with more or fewer dots, white space, padding or other characters", async () => {
    const [head, body, signature] = token.split(".");
    for (const text of [
      "",
      ".",
      "..",
      "...",
      `${token}.`,
      `.${token}`,
      `${token}.${signature}`,
      `${head}..${signature}`,
      `${head}.${body}`,
      `${head}.${body}.`,
      ` ${token}`,
      `${token}\n`,
      `${token}=`,
      `${token}\u0000`,
      token.replace(".", "\u3002"),
      `${token}\u{1f600}`,
      "\ud800.\ud800.\ud800",
    ]) {
      await assertRefused(subject.tokens, text, JSON.stringify(text));
    }
  });
  it("is refused when it is huge, without looking at it", async () => {
    const huge = await forge(header, { ...payload, pad: "x".repeat(tokenCharsMax) });
    await assertRefused(subject.tokens, huge, "huge");
    await assertRefused(subject.tokens, "a".repeat(20_000_000), "20 million characters");
  });
  it("gets an answer that does not say why, while the log can", async () => {
    const wrongKid = await forge({ ...header, kid: "x" }, payload);
    const error: unknown = await Promise.resolve(subject.tokens.verify(wrongKid, expected)).catch(
      caught => caught,
    );
    assert.ok(error instanceof Error);
    assert.equal(error.cause, "kid");
  });
});
