import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { knownCountry } from "../../../adapters/geo/database.ts";
import { type GeoDatabase, loadGeoDatabase } from "../../../adapters/geo/mod.ts";
import { buildDatabase, type DatabaseSketch } from "../../support/mmdb_writer.ts";

const load = (sketch: DatabaseSketch): Promise<GeoDatabase> => loadGeoDatabase(buildDatabase(sketch));

const germany = {
  country: {
    geoname_id: 2921044,
    is_in_european_union: true,
    iso_code: "DE",
    names: { de: "Deutschland", en: "Germany" },
  },
};
const britain = { country: { geoname_id: 2635167, iso_code: "GB", names: { en: "United Kingdom" } } };
const germanResult = {
  geonameId: 2921044,
  isoCode: "DE",
  isInEuropeanUnion: true,
  names: { de: "Deutschland", en: "Germany" },
};

describe("a country database", () => {
  it("finds the country of an address, and describes itself", async () => {
    const database = await load({ networks: { "192.0.2.0/24": germany, "2001:db8::/32": britain } });
    assert.deepEqual([database.type, database.builtAt], ["Test-Country", 1_750_000_000_000]);
    assert.deepEqual(database.lookup("192.0.2.1"), germanResult);
    assert.deepEqual(database.lookup("192.0.2.255"), germanResult);
    assert.equal(database.lookup("192.0.3.0"), null);
    assert.equal(database.lookup("2001:db8:ffff::1")?.isoCode, "GB");
    assert.equal(database.lookup("2001:db9::1"), null);
  });

  it("knows for every country whether it is in the European Union, even if the file does not say", async () => {
    const database = await load({ networks: { "192.0.2.0/24": germany, "198.51.100.0/24": britain } });
    assert.equal(database.lookup("192.0.2.1")?.isInEuropeanUnion, true);
    assert.equal(database.lookup("198.51.100.1")?.isInEuropeanUnion, false);
  });

  it("treats an IPv4-mapped address as the IPv4 address, in every spelling", async () => {
    const database = await load({ networks: { "192.0.2.0/24": germany, "::ffff:0:0/96": britain } });
    for (const address of [
      "::ffff:192.0.2.1",
      "::FFFF:192.0.2.1",
      "::ffff:c000:201",
      "::ffff:c000:0201",
      "0:0:0:0:0:ffff:c000:201",
      "0000:0000:0000:0000:0000:ffff:192.0.2.1",
    ]) {
      assert.equal(database.lookup(address)?.isoCode, "DE", address);
    }
    assert.equal(database.lookup("2001:db8:ffff::192.0.2.1"), null);
  });

  it("reads trees of every record size and of IPv4 alone", async () => {
    for (const recordBits of [24, 28, 32] as const) {
      for (const ipVersion of [4, 6] as const) {
        const networks = { "192.0.2.0/24": germany, "128.0.0.0/2": britain, "192.0.3.7/32": britain };
        const database = await load({ networks, recordBits, ipVersion });
        const found = ["192.0.2.9", "150.1.1.1", "192.0.3.7", "192.0.3.8", "1.1.1.1"].map(
          address => database.lookup(address)?.isoCode,
        );
        assert.deepEqual(found, ["DE", "GB", "GB", undefined, undefined], `${recordBits} ${ipVersion}`);
        assert.equal(database.lookup("::ffff:192.0.2.9")?.isoCode, "DE");
      }
    }
  });

  it("has no IPv6 address in a tree of IPv4, whose first bits would be mistaken for one", async () => {
    const database = await load({ networks: { "0.0.0.0/1": germany, "128.0.0.0/1": britain }, ipVersion: 4 });
    assert.equal(database.lookup("8.8.8.8")?.isoCode, "DE");
    for (const address of ["::1", "2001:db8::1", "fe80::1"]) assert.equal(database.lookup(address), null);
  });

  it("finds no country for a text that is not an address", async () => {
    const database = await load({ networks: { "0.0.0.0/0": germany, "2000::/3": germany } });
    for (const address of [
      "",
      "unknown",
      "1.2.3",
      "1.2.3.4.5",
      "256.1.1.1",
      "01.2.3.4",
      "1.2.3.4:80",
      "[2001:db8::1]",
      "2001:db8::1%eth0",
      "::ffff:1.2.3.4%1",
      "2001:db8::1::",
      " 1.2.3.4",
      "x".repeat(100_000),
    ]) {
      assert.equal(database.lookup(address), null, address.slice(0, 40));
    }
    assert.equal(database.lookup("1.2.3.4")?.isoCode, "DE");
  });

  it("falls back to the country of registration, then to the represented one", async () => {
    const registered = { registered_country: germany.country };
    const represented = { represented_country: britain.country };
    const database = await load({
      networks: {
        "192.0.2.0/26": { ...britain, ...registered },
        "192.0.2.64/26": { ...registered, ...represented, continent: { code: "EU" } },
        "192.0.2.128/26": { ...represented, country: {} },
        "192.0.2.192/26": { continent: { code: "EU" } },
      },
    });
    const found = [1, 65, 129, 193].map(last => database.lookup(`192.0.2.${last}`)?.isoCode);
    assert.deepEqual(found, ["GB", "DE", "GB", undefined]);
  });

  it("completes reduced records, and records without an identifier, from what is built in", async () => {
    const database = await load({
      networks: {
        "192.0.2.0/26": { country_code: "DE" },
        "192.0.2.64/26": { country_code: "GB" },
        "192.0.2.128/26": { country: { iso_code: "RE" } },
        "192.0.2.192/26": { country: { iso_code: "FR", geoname_id: 7 } },
      },
    });
    assert.deepEqual(database.lookup("192.0.2.1"), knownCountry("DE"));
    assert.equal(database.lookup("192.0.2.1")?.isInEuropeanUnion, true);
    assert.deepEqual(database.lookup("192.0.2.65"), knownCountry("GB"));
    assert.deepEqual(database.lookup("192.0.2.129"), knownCountry("RE"));
    const { names } = knownCountry("FR") ?? assert.fail("no France");
    assert.deepEqual(database.lookup("192.0.2.193"), {
      geonameId: 7,
      isoCode: "FR",
      isInEuropeanUnion: false,
      names,
    });
  });

  it("treats a record without a country as unknown", async () => {
    const odd = [
      { country_code: "ZZ" },
      { country_code: "de" },
      { country_code: 7 },
      { country: "DE" },
      { country: { iso_code: "DEU", geoname_id: 1 } },
      { country: [1] },
      {},
      "DE",
      7,
      true,
    ];
    const networks = Object.fromEntries(odd.map((record, index) => [`10.${index}.0.0/16`, record]));
    const database = await load({ networks: { ...networks, "192.0.2.0/24": germany } });
    odd.forEach((record, index) => {
      assert.equal(database.lookup(`10.${index}.1.1`), null, JSON.stringify(record));
    });
  });

  it("keeps names that are texts only", async () => {
    const names = JSON.parse('{"en":"Germany","xx":7,"__proto__":"odd"}');
    const database = await load({
      networks: { "192.0.2.0/24": { country: { ...germany.country, names } } },
    });
    assert.deepEqual(database.lookup("192.0.2.1")?.names, { en: "Germany" });
  });

  it("answers with one object per record, and continues to answer beyond the bound of its cache", async () => {
    const database = await load({ networks: { "10.0.0.0/8": germany, "11.0.0.0/8": britain } });
    const first = database.lookup("10.0.0.1");
    assert.equal(database.lookup("10.255.0.1"), first);
    for (let index = 0; index < 40_000; index++) {
      const tail = `${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
      assert.equal(database.lookup(`11.${tail}`)?.isoCode, "GB");
    }
    assert.equal(database.lookup("10.0.0.1"), first);
  });

  it("leaves the bytes that it was given as they are, wherever they lie", async () => {
    const bytes = buildDatabase({ networks: { "192.0.2.0/24": germany } });
    const around = new Uint8Array(bytes.length + 20).fill(0xab);
    around.set(bytes, 7);
    const copy = around.slice();
    const database = await loadGeoDatabase(around.subarray(7, 7 + bytes.length));
    assert.deepEqual(database.lookup("192.0.2.1"), germanResult);
    assert.deepEqual(around, copy);
  });
});

describe("the built-in countries", () => {
  it("include every country that the runtime knows, each with its own identifier", () => {
    const display = new Intl.DisplayNames("en", { type: "region", fallback: "none" });
    const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
    const codes = letters.flatMap(first => letters.map(second => first + second));
    // Codes that CLDR names but ISO 3166-1 has not, or has no more.
    const others = new Set(
      "AC AN BU CP CQ CS DD DG DY EA EU EZ FX HV IC NH NT PC QO QU RH SU TA TP UK UN VD WK XA XB YD YU ZR ZZ".split(
        " ",
      ),
    );
    const missing = codes.filter(
      code => display.of(code) !== undefined && !others.has(code) && knownCountry(code) === null,
    );
    assert.deepEqual(missing, []);
    const known = codes.flatMap(code => knownCountry(code) ?? []);
    assert.equal(known.length, 250);
    assert.equal(new Set(known.map(({ geonameId }) => geonameId)).size, 250);
    const locales = ["de", "en", "es", "fr", "ja", "pt-BR", "ru", "zh-CN"];
    for (const { isoCode, names } of known) assert.deepEqual(Object.keys(names), locales, isoCode);
    const members = known.filter(({ isInEuropeanUnion }) => isInEuropeanUnion);
    assert.equal(members.length, 27 + 7);
  });

  it("have names in the locales of the databases", () => {
    assert.deepEqual(knownCountry("JP")?.names, {
      de: "Japan",
      en: "Japan",
      es: "Japón",
      fr: "Japon",
      ja: "日本",
      "pt-BR": "Japão",
      ru: "Япония",
      "zh-CN": "日本",
    });
  });

  it("include no others", () => {
    for (const code of ["ZZ", "EU", "UK", "de", "", "DEU", "__"]) assert.equal(knownCountry(code), null);
  });
});
