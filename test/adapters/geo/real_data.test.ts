/** The test database of MaxMind against the records that it was made from. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { knownCountry } from "../../../adapters/geo/database.ts";
import { loadGeoDatabase } from "../../../adapters/geo/mod.ts";
import { formatAddress, type IpAddress, parseNetwork } from "../../../lib/auth/client_address.ts";
import { sharedData } from "../../support/shared_data.ts";

interface Country {
  readonly geoname_id: number;
  readonly iso_code: string;
  readonly is_in_european_union?: boolean;
  readonly names: Readonly<Record<string, string>>;
}
interface Source {
  readonly country?: Country;
  readonly registered_country?: Country;
}

const database = sharedData("geo/GeoLite2-Country-Test.mmdb");
const records = sharedData("geo/GeoLite2-Country-Test.json");

/** The first, the last and some address within a network. */
function addressesOf(network: string): readonly string[] {
  const { address, bits } = parseNetwork(network) ?? assert.fail(`${network} is no network`);
  const filled = (ones: number): string =>
    formatAddress(
      address.map((group, index) => {
        const free = Math.min(16, Math.max(0, (index + 1) * 16 - bits));
        return group | (ones & (2 ** free - 1));
      }) as IpAddress,
    );
  return [filled(0), filled(0xffff), filled(0x5a5a)];
}

describe("the test database", { skip: database.skip || records.skip }, () => {
  it("answers every network with the record that it was made from", async () => {
    assert.ok(database.path !== null && records.path !== null);
    const geo = await loadGeoDatabase(readFileSync(database.path));
    const sources: Record<string, Source>[] = JSON.parse(readFileSync(records.path, "utf8"));
    const networks = sources.flatMap(source => Object.entries(source));
    assert.ok(networks.length > 200, String(networks.length));
    for (const [network, { country, registered_country }] of networks) {
      const source = country ?? registered_country;
      const expected =
        source === undefined
          ? null
          : {
              geonameId: source.geoname_id,
              isoCode: source.iso_code,
              isInEuropeanUnion: source.is_in_european_union === true,
              names: source.names,
            };
      for (const address of addressesOf(network)) {
        assert.deepEqual(geo.lookup(address), expected, `${address} in ${network}`);
        if (!address.includes(":")) assert.deepEqual(geo.lookup(`::ffff:${address}`), expected, address);
      }
    }
  });

  it("agrees with the built-in countries", () => {
    assert.ok(records.path !== null);
    const sources: Record<string, Source>[] = JSON.parse(readFileSync(records.path, "utf8"));
    const countries = sources
      .flatMap(source => Object.values(source))
      .flatMap(({ country, registered_country }) => [country ?? [], registered_country ?? []].flat());
    assert.ok(countries.length > 400);
    for (const { iso_code, geoname_id, is_in_european_union = false } of countries) {
      const known = knownCountry(iso_code);
      assert.deepEqual(
        [known?.geonameId, known?.isInEuropeanUnion],
        [geoname_id, is_in_european_union],
        iso_code,
      );
    }
  });

  it("knows nothing of addresses between the networks", async () => {
    assert.ok(database.path !== null);
    const geo = await loadGeoDatabase(readFileSync(database.path));
    for (const address of ["127.0.0.1", "10.0.0.1", "::1", "fe80::1", "255.255.255.255"]) {
      assert.equal(geo.lookup(address), null, address);
    }
  });
});
