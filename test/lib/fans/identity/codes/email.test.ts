import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MasterSecret } from "../../../../../lib/auth/mod.ts";
import { emailHashKey, emailTag, normaliseEmail } from "../../../../../lib/fans/identity/lookup_keys.ts";
import { testSecret } from "../../../../support/platform.ts";
import { otherProject, project } from "./_setup.ts";

const key = emailHashKey(testSecret, project);

describe("e-mail addresses", () => {
  it("are one in any case of ASCII letters", () => {
    assert.equal(normaliseEmail("Fan.One+Tag@Example.ORG"), "fan.one+tag@example.org");
    assert.equal(emailTag(key, "FAN@example.org"), emailTag(key, "fan@EXAMPLE.org"));
  });

  it("stay distinct if mail servers may distinguish them", () => {
    const distinct = [
      "kim@example.org",
      // The Kelvin sign and the Turkish letters, which Unicode's folding makes one with ASCII letters.
      "\u212aim@example.org",
      "k\u0131m@example.org",
      "k\u0130m@example.org",
      // Full width.
      "ｋim@example.org",
      "k.im@example.org",
      "kim+1@example.org",
      " kim@example.org",
    ];
    assert.equal(new Set(distinct.map(normaliseEmail)).size, distinct.length);
    assert.equal(new Set(distinct.map(address => emailTag(key, address))).size, distinct.length);
  });

  it("are one in every spelling of one mailbox", () => {
    for (const [one, other] of [
      ["fan@b\u00fccher.example", "fan@xn--bcher-kva.example"],
      ["fan@B\u00dcCHER.Example", "FAN@bu\u0308cher.example"],
      ["jos\u00e9@example.org", "jose\u0301@example.org"],
    ] as const) {
      assert.equal(normaliseEmail(one), normaliseEmail(other));
    }
  });

  it("keep a domain that has no ASCII form", () => {
    for (const domain of ["\u00fc/x", "\u00fc:80", "\uff11.2.3.4", "\u00fc@x", "\ud800"]) {
      assert.equal(normaliseEmail(`fan@${domain}`), `fan@${domain}`);
    }
  });

  it("have a key of 64 hexadecimal digits that differs by project and secret", () => {
    const other = new MasterSecret("some other secret that is long enough to be taken");
    const keys = [
      emailTag(key, "fan@example.org"),
      emailTag(emailHashKey(testSecret, otherProject), "fan@example.org"),
      emailTag(emailHashKey(other, project), "fan@example.org"),
    ];
    for (const one of keys) assert.match(one, /^[0-9a-f]{64}$/);
    assert.equal(new Set(keys).size, 3);
  });
});
