import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import type { Seed } from "../../lib/fans/directory/mod.ts";
import type { CountryResult, GeoReader } from "../../lib/fans/location/mod.ts";
import { type Answer, ids, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { errorCode } from "./_families.ts";

const germany: CountryResult = {
  geonameId: 2921044,
  isoCode: "DE",
  isInEuropeanUnion: true,
  names: { en: "Germany", de: "Deutschland" },
};
const britain: CountryResult = {
  geonameId: 2635167,
  isoCode: "GB",
  isInEuropeanUnion: false,
  names: { en: "United Kingdom" },
};
const german = "198.51.100.1";
const british = "2001:db8::6b";
const unknown = "203.0.113.1";
const geo: GeoReader = {
  lookup: address => (address === german ? germany : address === british ? britain : null),
};

const finished = "0d000000-0000-4000-8000-000000000002";
const foreign = "0d000000-0000-4000-8000-000000000003";
const places: Seed = {
  ...seed,
  projects: (seed.projects ?? []).map(project =>
    project.id === ids.project ? { ...project, settings: { location: { allow: ["EU"] } } } : project,
  ),
  events: [
    {
      id: ids.event,
      projectId: ids.project,
      name: "Match",
      state: "current",
      startAt: 1_750_000_000,
      settings: { location: { deny: ["DE"], unknownLocation: "allow" } },
    },
    { id: finished, projectId: ids.project, name: "Before", state: "past", startAt: 1_740_000_000 },
    { id: foreign, projectId: ids.otherProject, name: "Theirs", state: "current", startAt: 1_750_000_000 },
  ],
};
const germanJson = {
  geoname_id: 2921044,
  is_in_european_union: true,
  iso_code: "DE",
  names: { en: "Germany", de: "Deutschland" },
};
const britishJson = {
  geoname_id: 2635167,
  is_in_european_union: false,
  iso_code: "GB",
  names: { en: "United Kingdom" },
};

describeOnStores("the location check", open => {
  let world: TestPlatform;
  before(async () => {
    world = await openPlatform(open, { geo, seed: places });
  });
  after(() => world.dispose());

  const path = `/v1/locations/projects/${ids.project}`;
  const check = (address?: string, event?: string): Promise<Answer> =>
    world.call(event === undefined ? `${path}/check` : `${path}/events/${event}/check`, {
      ...(address === undefined ? {} : { address }),
    });

  it("answers with the country where it is served, exactly as specified", async () => {
    const { status, json, headers } = await check(german);
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "application/json");
    assert.equal(headers.get("cache-control"), "no-store");
    assert.deepEqual(json, {
      result: 1,
      message: "Location is supported",
      data: { country: germanJson },
    });
  });

  it("refuses a country that is not served, and names it", async () => {
    const answer = await check(british);
    assert.equal(answer.status, 403);
    assert.equal(errorCode(answer, "identity"), "location_not_supported");
    assert.deepEqual(answer.json, {
      result: 0,
      message: "Cannot serve this location as its country is not supported",
      data: {
        country: britishJson,
        reason: "country_not_supported",
        code: "location_not_supported",
        retryable: false,
        action: "none",
      },
    });
  });

  it("refuses an unknown location unless the settings allow it", async () => {
    for (const address of [unknown, undefined, "127.0.0.1", "nonsense"]) {
      const answer = await check(address);
      assert.equal(answer.status, 403);
      assert.equal(errorCode(answer, "identity"), "location_not_supported");
      assert.deepEqual(answer.json.data.country, null);
      assert.equal(answer.json.data.reason, "unknown_location");
    }
    const allowed = await check(unknown, ids.event);
    assert.equal(allowed.status, 200);
    assert.deepEqual(allowed.json.data.country, {
      geoname_id: 0,
      is_in_european_union: false,
      iso_code: "ZZ",
      names: { en: "Unknown" },
    });
  });

  it("lets an event override the project, by its id and by alias", async () => {
    for (const event of [ids.event, ids.event.toUpperCase(), "current"]) {
      assert.equal((await check(german, event)).status, 403, event);
      assert.equal((await check(british, event)).status, 200, event);
    }
    for (const event of [finished, "latest"]) {
      assert.equal((await check(german, event)).status, 200, event);
      assert.equal((await check(british, event)).status, 403, event);
    }
  });

  it("knows no other event, project or alias", async () => {
    const other = `/v1/locations/projects/${ids.otherProject}`;
    const nobody = "/v1/locations/projects/0c000000-0000-4000-8000-00000000ffff";
    const cases: [string, number, string][] = [
      [`${path}/events/${foreign}/check`, 404, "not_found"],
      [`${other}/events/${ids.event}/check`, 404, "not_found"],
      [`${other}/events/latest/check`, 404, "not_found"],
      [`${nobody}/check`, 404, "not_found"],
      [`${nobody}/events/current/check`, 404, "not_found"],
      [`${path}/events/next/check`, 400, "validation_failed"],
      [`${path}/events/${ids.event}0/check`, 400, "validation_failed"],
      ["/v1/locations/projects/club/check", 400, "validation_failed"],
    ];
    for (const [target, status, code] of cases) {
      const answer = await world.call(target, { address: german });
      assert.equal(answer.status, status, target);
      assert.equal(errorCode(answer, "identity"), code, target);
    }
  });

  it("ignores headers about the client's address", async () => {
    const headers = {
      "x-forwarded-for": german,
      forwarded: `for=${german}`,
      "x-real-ip": german,
      "cf-ipcountry": "DE",
    };
    const answer = await world.call(`${path}/check`, { address: british, headers });
    assert.equal(answer.json.data.country.iso_code, "GB");
    assert.equal((await world.call(`${path}/check`, { headers })).json.data.country, null);
  });

  it("answers HEAD, is described with both answers, and can be mounted alone", async () => {
    const head = await world.call(`${path}/check`, { method: "HEAD", address: german });
    assert.deepEqual([head.status, head.text], [200, ""]);
    const { json: document } = await world.call("/openapi.json");
    const described = document.paths["/v1/locations/projects/{projectId}/check"].get;
    assert.deepEqual(described.tags, ["location"]);
    assert.deepEqual(Object.keys(described.responses), ["200", "400", "403", "404", "500", "503"]);
    const { LocationServed, LocationRefused } = document.components.schemas;
    assert.deepEqual(described.responses[200].content["application/json"].schema, {
      $ref: "#/components/schemas/LocationServed",
    });
    assert.deepEqual(Object.keys(LocationServed.properties.data.properties), ["country"]);
    const refused = ["country", "reason", "code", "retryable", "action"];
    assert.deepEqual(Object.keys(LocationRefused.properties.data.properties), refused);
    const alone = world.platform.handler(["location"]);
    const request = new Request(`http://geo.example${path}/check`);
    assert.equal((await alone(request, { address: german })).status, 200);
    assert.equal((await alone(new Request("http://geo.example/v1/user"))).status, 404);
  });

  it("is also a function", async () => {
    const { location } = world.platform;
    const found = await location.check({ projectId: ids.project, address: british });
    assert.deepEqual(found, { country: britain, isServed: false });
  });
});

describeOnStores("the location check of a platform without a reader or with broken settings", open => {
  it("treats every location as unknown, and fails closed", async () => {
    const broken: Seed = {
      ...places,
      events: [
        {
          id: ids.event,
          projectId: ids.project,
          name: "Match",
          state: "current",
          startAt: 1_750_000_000,
          settings: { location: { allow: ["EU"], deny: ["DE"] } },
        },
      ],
    };
    await using world = await disposable(openPlatform(open, { seed: broken }));
    const path = `/v1/locations/projects/${ids.project}`;
    const none = await world.call(`${path}/check`, { address: german });
    assert.deepEqual([none.status, none.json.data.reason], [403, "unknown_location"]);
    const failed = await world.call(`${path}/events/current/check`, { address: german });
    assert.deepEqual([failed.status, errorCode(failed, "identity")], [500, "internal_error"]);
  });
});

async function disposable(opening: Promise<TestPlatform>): Promise<TestPlatform & AsyncDisposable> {
  const world = await opening;
  return { ...world, [Symbol.asyncDispose]: () => world.dispose() };
}
