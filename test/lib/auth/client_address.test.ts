import assert from "node:assert/strict";
import { isIP } from "node:net";
import { describe, it } from "node:test";
import {
  createClientAddress,
  formatAddress,
  isInNetwork,
  parseAddress,
  parseNetwork,
} from "../../../lib/auth/client_address.ts";
import type { LogFields } from "../../../lib/http/mod.ts";

const forwardedHopsMax = 16;

function canonical(text: string): string | undefined {
  const address = parseAddress(text);
  return address === undefined ? undefined : formatAddress(address);
}

describe("parseAddress", () => {
  it("reads every spelling into the canonical one", () => {
    const spellings = {
      "192.0.2.1": "192.0.2.1",
      "0.0.0.0": "0.0.0.0",
      "255.255.255.255": "255.255.255.255",
      "::ffff:192.0.2.1": "192.0.2.1",
      "::FFFF:c000:0201": "192.0.2.1",
      "0:0:0:0:0:ffff:192.0.2.1": "192.0.2.1",
      "::": "::",
      "::1": "::1",
      "1::": "1::",
      "2001:DB8:0:0:0:0:0:1": "2001:db8::1",
      "2001:db8::0001": "2001:db8::1",
      "2001:db8:0:1:1:1:1:1": "2001:db8:0:1:1:1:1:1",
      "2001:0:0:1:0:0:0:1": "2001:0:0:1::1",
      "2001:db8:0:0:1:0:0:1": "2001:db8::1:0:0:1",
      "64:ff9b::192.0.2.33": "64:ff9b::c000:221",
      "1:2:3:4:5:6:7::": "1:2:3:4:5:6:7:0",
    };
    for (const [text, expected] of Object.entries(spellings)) assert.equal(canonical(text), expected, text);
  });
  it("refuses what is no address", () => {
    for (const text of [
      "",
      " ",
      "1.2.3",
      "1.2.3.4.5",
      "256.0.0.1",
      "01.2.3.4",
      "1.2.3.4 ",
      "0x7f.0.0.1",
      "1.2.3.-4",
      "localhost",
      ":",
      ":::",
      "1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:8:9",
      "1::2::3",
      "1:2:3:4:5:6:7:8::",
      "12345::",
      "g::1",
      "::1.2.3",
      "1.2.3.4::",
      "::1.2.3.4:5",
      "fe80::1%eth0",
      "[::1]",
      "1:2:3:4:5:6:7:1.2.3.4",
      `${"0".repeat(60)}::1`,
    ]) {
      assert.equal(parseAddress(text), undefined, text);
    }
  });
  it("agrees with the runtime on random texts of address characters", () => {
    let state = 7;
    function next(below: number): number {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return (state >>> 8) % below;
    }
    const pieces = ["0", "1", "ff", "255", "256", "abcd", ".", ".", ":", ":", "::", "12", "g", "1.2.3.4"];
    let accepted = 0;
    for (let round = 0; round < 50_000; round++) {
      const text = Array.from({ length: 1 + next(15) }, () => pieces[next(pieces.length)]).join("");
      const isAddress = parseAddress(text) !== undefined;
      if (isAddress) accepted++;
      assert.equal(isAddress, isIP(text) !== 0, text);
      const written = canonical(text);
      if (written !== undefined) assert.equal(canonical(written), written);
    }
    assert.ok(accepted > 100, `only ${accepted} texts were addresses`);
  });
});

describe("parseNetwork and isInNetwork", () => {
  function isIn(network: string, address: string): boolean {
    const parsed = { network: parseNetwork(network), address: parseAddress(address) };
    assert.ok(parsed.network !== undefined && parsed.address !== undefined);
    return isInNetwork(parsed.network, parsed.address);
  }
  it("hold the addresses of the prefix and no others", () => {
    assert.ok(isIn("10.0.0.0/8", "10.255.255.255"));
    assert.equal(isIn("10.0.0.0/8", "11.0.0.0"), false);
    assert.ok(isIn("192.0.2.128/25", "192.0.2.200"));
    assert.equal(isIn("192.0.2.128/25", "192.0.2.127"), false);
    assert.ok(isIn("192.0.2.7", "192.0.2.7"));
    assert.equal(isIn("192.0.2.7", "192.0.2.6"), false);
    assert.ok(isIn("2001:db8::/33", "2001:db8:7fff::1"));
    assert.equal(isIn("2001:db8::/33", "2001:db8:8000::1"), false);
    assert.ok(isIn("::1", "::1"));
  });
  it("see an IPv4 address in its IPv4-mapped spelling too", () => {
    assert.ok(isIn("10.0.0.0/8", "::ffff:10.1.2.3"));
    assert.ok(isIn("::ffff:10.0.0.0/104", "10.1.2.3"));
    assert.ok(isIn("0.0.0.0/0", "203.0.113.9"));
    assert.equal(isIn("0.0.0.0/0", "2001:db8::1"), false);
  });
  it("refuse what is no network", () => {
    for (const text of [
      "",
      "/8",
      "10.0.0.0/",
      "10.0.0.0/33",
      "::/129",
      "10.0.0.0/8/8",
      "10.0.0.0/-1",
      "10/8",
      "::/08",
    ]) {
      assert.equal(parseNetwork(text), undefined, text);
    }
  });
});

describe("createClientAddress", () => {
  const lines: [level: string, event: string, peer: unknown][] = [];
  const logger = {
    enabled: () => true,
    log: (level: string, event: string, { peer }: LogFields) => void lines.push([level, event, peer]),
  };
  const trustedProxies = ["10.0.0.0/8", "2001:db8:ffff::/48", "192.0.2.1"];
  const clientAddress = createClientAddress({ trustedProxies }, logger);
  function clientOf(address: string | undefined, headers: Readonly<Record<string, string>>) {
    return clientAddress(new Request("http://localhost/", { headers }), { address });
  }
  function client(peer: string, forwardedFor?: string): string | undefined {
    return clientOf(peer, forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor });
  }
  it("is the peer without a header", () => {
    assert.equal(client("203.0.113.9"), "203.0.113.9");
    assert.equal(client("::ffff:203.0.113.9"), "203.0.113.9");
    assert.equal(client("fe80::1%eth0"), "fe80::1");
  });
  it("is the peer if that is no trusted proxy", () => {
    assert.equal(client("203.0.113.9", "198.51.100.7"), "203.0.113.9");
  });
  it("is the first untrusted hop from the right", () => {
    assert.equal(client("10.0.0.1", "198.51.100.7"), "198.51.100.7");
    assert.equal(client("10.0.0.1", "198.51.100.7, 10.1.1.1, 192.0.2.1"), "198.51.100.7");
    assert.equal(client("2001:db8:ffff::2", "2001:db8:1::5,2001:db8:ffff::1"), "2001:db8:1::5");
    assert.equal(client("::ffff:10.0.0.1", "198.51.100.7"), "198.51.100.7");
  });
  it("never looks at what the client wrote to the left of its own address", () => {
    assert.equal(client("10.0.0.1", "127.0.0.1, 198.51.100.7, 10.1.1.1"), "198.51.100.7");
    assert.equal(client("10.0.0.1", "garbage, , <script>, 198.51.100.7"), "198.51.100.7");
    assert.equal(client("10.0.0.1", `${"1.1.1.1,".repeat(1_000)}198.51.100.7`), "198.51.100.7");
  });
  it("takes hops with a port or in brackets", () => {
    assert.equal(client("10.0.0.1", "198.51.100.7:50123"), "198.51.100.7");
    assert.equal(client("10.0.0.1", "[2001:db8::5]:443, 10.0.0.2:80"), "2001:db8::5");
    assert.equal(client("10.0.0.1", "[2001:db8::5]"), "2001:db8::5");
  });
  it("is the leftmost hop if all are trusted", () => {
    assert.equal(client("10.0.0.1", "10.9.9.9, 10.1.1.1"), "10.9.9.9");
  });
  it("is the peer if the chain is malformed before the client", () => {
    for (const chain of [
      "",
      " ",
      ",",
      "198.51.100.7,",
      "198.51.100.7, unknown",
      "_hidden",
      "1.2.3.4, 10.0.0.2, 1.2.3.4.5",
    ]) {
      assert.equal(client("10.0.0.1", chain), "10.0.0.1", chain);
    }
    for (const chain of [
      "198.51.100.7:",
      "198.51.100.7:123456",
      "[198.51.100.7]",
      "[2001:db8::5",
      "2001:db8::5]:1",
    ]) {
      assert.equal(client("10.0.0.1", chain), "10.0.0.1", chain);
    }
  });
  it("is the peer if the trusted chain is too long", () => {
    const proxies = (count: number): string => ", 10.0.0.2".repeat(count);
    assert.equal(client("10.0.0.1", `198.51.100.7${proxies(forwardedHopsMax - 1)}`), "198.51.100.7");
    assert.equal(client("10.0.0.1", `198.51.100.7${proxies(forwardedHopsMax)}`), "10.0.0.1");
  });
  it("returns a peer that is no IP address unchanged, such as the path of a socket", () => {
    assert.equal(client("/run/app.sock", "198.51.100.7"), "/run/app.sock");
  });
  it("refuses an invalid network", () => {
    assert.throws(() => createClientAddress({ trustedProxies: ["10.0.0.0/40"] }, logger), RangeError);
  });
  it("is read from Forwarded too", () => {
    for (const [forwarded, address] of [
      ["for=198.51.100.7", "198.51.100.7"],
      ["for=198.51.100.7;proto=https;by=10.0.0.3", "198.51.100.7"],
      ['proto=http;FOR="198.51.100.7:50123", for=10.1.1.1', "198.51.100.7"],
      ['For="[2001:db8:1::5]:443" , for="[2001:db8:ffff::1]"', "2001:db8:1::5"],
      // What the client wrote stands to the left, an open quotation too.
      ['for=127.0.0.1, for="1.1.1.1, for=198.51.100.7', "198.51.100.7"],
      ["for=198.51.100.7, for=unknown", "10.0.0.1"],
      ["for=198.51.100.7, for=_hidden", "10.0.0.1"],
      ["for=198.51.100.7;for=198.51.100.8", "10.0.0.1"],
      ["by=198.51.100.7", "10.0.0.1"],
      ["198.51.100.7", "10.0.0.1"],
    ] as const) {
      assert.equal(clientOf("10.0.0.1", { forwarded }), address, forwarded);
    }
  });
  it("is unknown where both fields are there and name different clients, as one of them may be the client's own", () => {
    const forwarded = "for=198.51.100.7";
    assert.equal(clientOf("10.0.0.1", { forwarded, "x-forwarded-for": "198.51.100.7:1" }), "198.51.100.7");
    assert.equal(clientOf("10.0.0.1", { forwarded, "x-forwarded-for": "198.51.100.8" }), undefined);
    assert.equal(clientOf("10.0.0.1", { forwarded: "for=x", "x-forwarded-for": "198.51.100.8" }), undefined);
    assert.equal(clientOf(undefined, { forwarded }), undefined);
  });
  it("warns once of a peer whose fields do not count, and once of fields that differ", () => {
    lines.length = 0;
    const watched = createClientAddress({ trustedProxies: ["10.0.0.1"] }, logger);
    for (let count = 0; count < 2; count++) {
      for (const [peer, headers] of [
        ["203.0.113.9", {}],
        ["10.0.0.1", { forwarded: "for=198.51.100.7" }],
        ["10.0.0.2", { "x-forwarded-for": "198.51.100.7" }],
        ["10.0.0.3", { forwarded: "for=198.51.100.7" }],
        ["10.0.0.1", { forwarded: "for=198.51.100.7", "x-forwarded-for": "198.51.100.8" }],
      ] as const) {
        watched(new Request("http://localhost/", { headers }), { address: peer });
      }
    }
    assert.deepEqual(lines, [
      ["warn", "forwarded_ignored", "10.0.0.2"],
      ["warn", "forwarded_contradicts", "10.0.0.1"],
    ]);
  });
});
