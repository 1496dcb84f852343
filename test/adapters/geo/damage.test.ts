/** Files that are incomplete, damaged, hostile or about something else. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { createRandom } from "../../../adapters/conformance/random.ts";
import {
  databaseBytesMax,
  nodesPerTurn,
  UnusableDatabaseError,
} from "../../../adapters/geo/format_checks.ts";
import { loadGeoDatabase } from "../../../adapters/geo/mod.ts";
import {
  buildDatabase,
  type DatabaseSketch,
  encodeValue,
  pointerTo,
  withHead,
} from "../../support/mmdb_writer.ts";
import { sharedData } from "../../support/shared_data.ts";

const germany = { country: { geoname_id: 2921044, iso_code: "DE", names: { en: "Germany" } } };
const networks = { "192.0.2.0/24": germany, "198.51.100.0/24": { country_code: "GB" } };
const addresses = [
  "192.0.2.1",
  "198.51.100.1",
  "8.8.8.8",
  "::1",
  "2001:db8::1",
  "0.0.0.0",
  "255.255.255.255",
];

async function refused(bytes: Uint8Array, message: RegExp, what = String(message)): Promise<void> {
  await assert.rejects(loadGeoDatabase(bytes), { name: "UnusableDatabaseError", message }, what);
}

const refusedSketch = (sketch: Partial<DatabaseSketch>, message: RegExp): Promise<void> =>
  refused(buildDatabase({ networks, ...sketch }), message, JSON.stringify(sketch.metadata));

/** Loads what may be damaged: it is refused, or every look-up has a well-formed answer. Answers whether it was refused. */
async function isRefused(bytes: Uint8Array, asked: readonly string[] = addresses): Promise<boolean> {
  try {
    const database = await loadGeoDatabase(bytes);
    for (const address of asked) {
      const country = database.lookup(address);
      if (country === null) continue;
      assert.match(country.isoCode, /^[A-Z]{2}$/);
      assert.ok(Number.isSafeInteger(country.geonameId));
      assert.equal(typeof country.isInEuropeanUnion, "boolean");
      for (const name of Object.values(country.names)) assert.equal(typeof name, "string");
    }
    return false;
  } catch (error) {
    assert.ok(error instanceof UnusableDatabaseError, String(error));
    return true;
  }
}

describe("a file that is not a country database", () => {
  it("is refused with the reason", async () => {
    await refused(new Uint8Array(0), /no MaxMind DB file, or its end is missing/);
    await refused(Buffer.from("<html>Not found</html>"), /no MaxMind DB file/);
    await refused(Buffer.from("\xab\xcd\xefMaxMind.com", "latin1"), /is damaged/);
    const asn = { autonomous_system_number: 64_496, autonomous_system_organization: "Example" };
    await refused(
      buildDatabase({ networks: { "192.0.2.0/24": asn }, metadata: { database_type: "GeoLite2-ASN" } }),
      /contains no countries: it is a GeoLite2-ASN database/,
    );
    await refused(buildDatabase({ networks: { "192.0.2.0/24": "DE" } }), /contains no countries/);
  });

  it("is refused where its metadata is not of this format", async () => {
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ binary_format_major_version: 1 }, /its format version/],
      [{ binary_format_major_version: 3 }, /its format version/],
      [{ node_count: 0 }, /its number of nodes/],
      [{ node_count: "many" }, /damaged|its number of nodes/],
      [{ node_count: 4_000_000_000 }, /longer than the file|cannot be read/],
      [{ record_size: 25 }, /cannot be read/],
      [{ record_size: "28" }, /cannot be read/],
      [{ ip_version: 5 }, /its IP version/],
      [{ database_type: 7 }, /its type/],
      [{ build_epoch: "yesterday" }, /its build time/],
    ];
    for (const [metadata, message] of cases) await refusedSketch({ metadata }, message);
    const few = buildDatabase({ networks, metadata: { node_count: 10 } });
    await refused(few, /its tree does not end where it should|points outside the data/);
  });

  it("is refused where the metadata is too far from its end, or the file too large", async () => {
    const bytes = buildDatabase({ networks });
    await refused(Buffer.concat([bytes, Buffer.alloc(131_072)]), /its end is missing/);
    const large = Buffer.alloc(databaseBytesMax + 1);
    bytes.copy(large, large.length - bytes.length);
    await refused(large, /larger than \d+ bytes/);
  });
});

describe("a hostile file", () => {
  const record = (value: Uint8Array, data: Uint8Array = Buffer.alloc(0)): Buffer =>
    buildDatabase({ networks: { "192.0.2.0/24": value, "198.51.100.0/24": germany }, data });

  it("cannot make look-ups run in circles", async () => {
    const circle = Buffer.concat([withHead(7, 1, encodeValue("a")), pointerTo(0)]);
    await refused(record(pointerTo(0), circle), /nested too deeply/);
    await refused(record(pointerTo(0), pointerTo(0)), /points to a pointer/);
  });

  it("cannot make small data large", async () => {
    // Each list has the one before sixteen times.
    let data = encodeValue("x".repeat(200));
    let last = 0;
    for (let level = 0; level < 6; level++) {
      const list = withHead(11, 16, Buffer.concat(Array.from({ length: 16 }, () => pointerTo(last))));
      last = data.length;
      data = Buffer.concat([data, list]);
    }
    await refused(record(pointerTo(last), data), /is too large/);
    await refused(record(encodeValue("x".repeat(65_536))), /is too large/);
    await refused(record(withHead(7, 16_000_000, Buffer.alloc(0))), /damaged/);
    await refused(record(withHead(11, 16_000_000, Buffer.alloc(0))), /damaged/);
  });

  it("cannot make the check itself endless", async () => {
    const large = encodeValue("x".repeat(65_000));
    const count = Math.ceil((1_024 * 1_024 * 1_024) / 65_000);
    const places = Array.from({ length: count }, (_, index) => [
      `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}/32`,
      pointerTo(0),
    ]);
    const bytes = buildDatabase({ networks: Object.fromEntries(places), data: large, ipVersion: 4 });
    assert.ok(bytes.length < 2 ** 20);
    await refused(bytes, /its values are too many and too large/);
  });

  it("cannot nest beyond the bound, and may nest up to it", async () => {
    const nested = (depth: number): Buffer =>
      depth === 0 ? encodeValue("x") : withHead(11, 1, nested(depth - 1));
    assert.equal(await isRefused(record(nested(16))), false);
    await refused(record(nested(17)), /nested too deeply/);
  });

  it("cannot use types, sizes and names that do not exist", async () => {
    const values = [
      withHead(3, 4, Buffer.alloc(8)),
      withHead(15, 8, Buffer.alloc(8)),
      withHead(6, 5, Buffer.alloc(8)),
      withHead(5, 3, Buffer.alloc(8)),
      withHead(10, 17, Buffer.alloc(17)),
      withHead(14, 2, Buffer.alloc(0)),
      withHead(12, 0, Buffer.alloc(0)),
      withHead(13, 0, Buffer.alloc(0)),
      withHead(16, 0, Buffer.alloc(0)),
      Buffer.from([0, 0]),
      withHead(7, 1, Buffer.concat([encodeValue(7), encodeValue(7)])),
      withHead(7, 1, Buffer.concat([encodeValue("x".repeat(257)), encodeValue(7)])),
      pointerTo(0xffff_ffff),
    ];
    for (const value of values)
      await refused(record(value), /is damaged/, value.toString("hex").slice(0, 40));
  });

  it("cannot lead its tree out of the file or into circles", async () => {
    const bytes = buildDatabase({ networks, recordBits: 32 });
    const outside = Buffer.from(bytes);
    outside.writeUInt32BE(0xffff_ffff, 0);
    await refused(outside, /points outside the data/);
    const circle = Buffer.from(bytes);
    circle.writeUInt32BE(0, 0);
    circle.writeUInt32BE(0, 4);
    assert.equal(await isRefused(circle), false);
  });

  it("cannot change what objects have", async () => {
    const hostile = { ["__proto__"]: { country: germany.country, polluted: true } };
    const prototype = withHead(7, 1, Buffer.concat(Object.entries(hostile).flat().map(encodeValue)));
    const member = withHead(7, 1, Buffer.concat([encodeValue("__proto__"), encodeValue({ polluted: true })]));
    for (const value of [prototype, member]) assert.equal(await isRefused(record(value)), false);
    assert.equal("polluted" in {}, false);
  });
});

describe("a damaged file", { timeout: 120_000 }, () => {
  it("is refused wherever it was cut off", async () => {
    const bytes = buildDatabase({ networks });
    for (let length = 0; length < bytes.length; length++) {
      assert.equal(await isRefused(bytes.subarray(0, length)), true, `cut to ${length} of ${bytes.length}`);
    }
    assert.equal(await isRefused(bytes), false);
  });

  it("is refused or has well-formed answers, whichever bit was flipped", async () => {
    const bytes = buildDatabase({ networks: { ...networks, "0.0.0.0/2": germany }, ipVersion: 4 });
    let refusals = 0;
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const damaged = Buffer.from(bytes);
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      if (await isRefused(damaged)) refusals += 1;
    }
    assert.ok(refusals > bytes.length, `${refusals} of ${bytes.length * 8}`);
  });

  const real = sharedData("geo/GeoLite2-Country-Test.mmdb");
  it("is refused or has well-formed answers, for a damaged real one", {
    skip: real.skip,
  }, async t => {
    assert.ok(real.path !== null);
    const bytes = readFileSync(real.path);
    const random = createRandom(20_250_615);
    let refusals = 0;
    const count = 400;
    for (let round = 0; round < count; round++) {
      const damaged = Buffer.from(bytes);
      for (let flips = 1 + random.integer(8); flips > 0; flips--) {
        const at = random.integer(damaged.length);
        damaged[at] = random.integer(256);
      }
      const cut = round % 4 === 0 ? random.integer(damaged.length) : damaged.length;
      const asked = Array.from({ length: 50 }, () => [0, 0, 0, 0].map(() => random.integer(256)).join("."));
      if (await isRefused(damaged.subarray(0, cut), [...addresses, "81.2.69.160", ...asked])) refusals += 1;
    }
    assert.ok(refusals >= count / 4);
    t.diagnostic(`${refusals} of ${count} damaged copies were refused`);
  });

  it("lets other work run while its values and its tree are checked", async () => {
    let pauses = 0;
    const options = {
      pause: async (): Promise<void> => {
        pauses += 1;
      },
    };
    const large = Array.from({ length: 1_000 }, (_, index) => [
      `10.${index >> 8}.${index & 255}.0/24`,
      { country_code: "DE", other: "x".repeat(2_000) },
    ]);
    await loadGeoDatabase(buildDatabase({ networks: Object.fromEntries(large) }), options);
    assert.ok(pauses >= 15, `${pauses} for 2 MB of values`);
    pauses = 0;
    const wide = Array.from({ length: 3 * nodesPerTurn }, (_, index) => [
      `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}/32`,
      germany,
    ]);
    await loadGeoDatabase(buildDatabase({ networks: Object.fromEntries(wide), ipVersion: 4 }), options);
    assert.ok(pauses >= 3, `${pauses} for more than ${3 * nodesPerTurn} nodes`);
  });
});
