import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Event, Project, Settings } from "../../../../lib/fans/directory/mod.ts";
import {
  createLocation,
  isServed,
  type LocationPolicy,
  locationPolicy,
  policyCountriesMax,
} from "../../../../lib/fans/location/location.ts";
import type { CountryResult } from "../../../../lib/fans/location/mod.ts";
import { ids } from "../../../support/platform.ts";

const country = (isoCode: string, isInEuropeanUnion = false): CountryResult => ({
  geonameId: 1,
  isoCode,
  isInEuropeanUnion,
  names: {},
});
const countries = { DE: country("DE", true), FR: country("FR", true), GB: country("GB"), US: country("US") };

function project(settings: Settings): Project {
  const { project: id, space: spaceId, organisation: organisationId } = ids;
  return { id, spaceId, organisationId, name: "Club app", settings };
}

function event(settings: Settings): Event {
  return { id: ids.event, projectId: ids.project, name: "Match", state: "current", startAt: 0, settings };
}

function policy(ofProject: unknown, ofEvent?: unknown): LocationPolicy {
  return locationPolicy(
    project(ofProject === undefined ? {} : { location: ofProject }),
    ofEvent === undefined ? null : event({ location: ofEvent }),
  );
}

/** The codes that a policy serves, `?` for an unknown country. */
function served(rules: LocationPolicy): string {
  const codes = Object.values(countries)
    .filter(one => isServed(rules, one))
    .map(({ isoCode }) => isoCode);
  return [...codes, ...(isServed(rules, null) ? ["?"] : [])].join(" ");
}

describe("a location policy", () => {
  it("serves the countries of its lists", () => {
    const cases: [rules: unknown, codes: string][] = [
      [undefined, "DE FR GB US"],
      [{}, "DE FR GB US"],
      [{ allow: ["DE"] }, "DE"],
      [{ allow: ["de", "us"] }, "DE US"],
      [{ allow: ["EU"] }, "DE FR"],
      [{ allow: ["EU", "GB"] }, "DE FR GB"],
      [{ allow: [] }, ""],
      [{ deny: ["DE"] }, "FR GB US"],
      [{ deny: ["EU"] }, "GB US"],
      [{ deny: ["EU", "US"] }, "GB"],
      [{ deny: [] }, "DE FR GB US"],
      [{ unknownLocation: "deny" }, "DE FR GB US"],
      [{ unknownLocation: "allow" }, "DE FR GB US ?"],
      [{ allow: ["DE"], unknownLocation: "allow" }, "DE ?"],
      [{ deny: ["DE"], unknownLocation: "allow" }, "FR GB US ?"],
    ];
    for (const [rules, codes] of cases) assert.equal(served(policy(rules)), codes, JSON.stringify(rules));
  });

  it("is the project's, with the event's declarations in its place", () => {
    const cases: [ofProject: unknown, ofEvent: unknown, codes: string][] = [
      [{ allow: ["DE"] }, {}, "DE"],
      [{ allow: ["DE"] }, { allow: ["US"] }, "US"],
      [{ allow: ["DE"] }, { deny: ["US"] }, "DE FR GB"],
      [{ deny: ["DE"] }, { allow: ["DE"] }, "DE"],
      [{ allow: ["DE"] }, { deny: [] }, "DE FR GB US"],
      [{ allow: ["DE"], unknownLocation: "allow" }, { allow: ["US"] }, "US ?"],
      [{ allow: ["DE"], unknownLocation: "allow" }, { unknownLocation: "deny" }, "DE"],
      [undefined, { allow: ["EU"], unknownLocation: "allow" }, "DE FR ?"],
    ];
    for (const [ofProject, ofEvent, codes] of cases) {
      assert.equal(served(policy(ofProject, ofEvent)), codes, JSON.stringify([ofProject, ofEvent]));
    }
  });

  it("refuses every client if it is invalid", () => {
    const many = (count: number): string[] =>
      Array.from({ length: count }, (_, index) =>
        String.fromCharCode(65 + (Math.floor(index / 26) % 26), 65 + (index % 26)),
      );
    const wrong = [
      null,
      [],
      "DE",
      { allow: ["DE"], deny: ["US"] },
      { allow: "DE" },
      { allow: ["DEU"] },
      { allow: ["D1"] },
      { deny: [""] },
      { deny: [7] },
      { deny: many(policyCountriesMax + 1) },
      { unknownLocation: "maybe" },
      { alow: ["DE"] },
    ];
    for (const rules of wrong) {
      const expected = { name: "AppError", code: "internal_error" };
      assert.throws(() => policy(rules), expected, JSON.stringify(rules));
      assert.throws(() => policy({}, rules), expected, JSON.stringify(rules));
    }
    assert.doesNotThrow(() => policy({ deny: many(policyCountriesMax) }));
  });
});

describe("a location check", () => {
  const asked: string[] = [];
  const geo = {
    lookup(address: string): CountryResult | null {
      asked.push(address);
      return address === "192.0.2.1" ? countries.DE : null;
    },
  };
  const projectInGermany = project({ location: { allow: ["DE"] } });
  const nobody = (): never => assert.fail("not asked for");
  const directory = {
    organisation: nobody,
    space: nobody,
    spaceOfHost: nobody,
    spaceOfOrganisation: nobody,
    forget: () => undefined,
    loyalty: nobody,
    project: (id: string) => (id === projectInGermany.id ? projectInGermany : null),
    event: () => null,
  };

  it("looks up canonical addresses only, and treats others as unknown", async () => {
    const location = createLocation({ directory, geo });
    const find = async (address: string | undefined): Promise<string | undefined> =>
      (await location.check({ projectId: projectInGermany.id, address })).country?.isoCode;
    assert.equal(await find("192.0.2.1"), "DE");
    assert.equal(await find("::ffff:192.0.2.1"), "DE");
    assert.equal(await find("::FFFF:c000:0201"), "DE");
    assert.equal(await find("2001:DB8:0::1"), undefined);
    assert.deepEqual(asked, ["192.0.2.1", "192.0.2.1", "192.0.2.1", "2001:db8::1"]);
    for (const address of [undefined, "", "unknown", "fe80::1%eth0", "192.0.2.1:80", "01.2.3.4"]) {
      assert.equal(await find(address), undefined, address);
    }
    assert.equal(asked.length, 4);
  });

  it("treats every location as unknown without a reader", async () => {
    const location = createLocation({ directory });
    const found = await location.check({ projectId: projectInGermany.id, address: "192.0.2.1" });
    assert.deepEqual(found, { country: null, isServed: false });
  });

  it("serves a client in an allowed country", async () => {
    const found = await createLocation({ directory, geo }).check({
      projectId: projectInGermany.id,
      address: "192.0.2.1",
    });
    assert.deepEqual(found, { country: countries.DE, isServed: true });
  });

  it("refuses unknown projects and events", async () => {
    const location = createLocation({ directory, geo });
    const expected = { name: "AppError", code: "not_found" };
    const address = "192.0.2.1";
    await assert.rejects(location.check({ projectId: ids.otherProject, address }), expected);
    await assert.rejects(
      location.check({ projectId: projectInGermany.id, eventId: ids.event, address }),
      expected,
    );
  });
});
