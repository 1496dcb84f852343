/** One address serves the spaces of all organisations: credentials name the space, for API keys the query too. */

import assert from "node:assert/strict";
import { it } from "node:test";
import type { Seed } from "../../lib/fans/directory/mod.ts";
import {
  type Answer,
  type CallOptions,
  ids,
  loyalty,
  openPlatform,
  seed,
  type TestPlatform,
} from "../support/platform.ts";
import { describeOnStores, type OpenStore } from "../support/stores.ts";
import { assertProblem } from "./_problem.ts";

const thirdSpace = "0b000000-0000-4000-8000-000000000003";
const thirdProject = "0c000000-0000-4000-8000-000000000003";
const spaces = [ids.space, ids.otherSpace, thirdSpace] as const;
const projects = { [ids.space]: ids.project, [ids.otherSpace]: ids.otherProject, [thirdSpace]: thirdProject };
const owners = {
  [ids.space]: ids.organisation,
  [ids.otherSpace]: ids.otherOrganisation,
  [thirdSpace]: ids.otherOrganisation,
};

/** An agency's deployment: one organisation with one space, another with two, and no domains. */
function agency(more: { readonly defaultSpaceId?: string; readonly domain?: string } = {}): Seed {
  const { defaultSpaceId, domain } = more;
  const rival = { name: "Rival", settings: {} };
  const configured = (space: string): object => ({ ...loyalty, metrics: metricsOf(space), products: [] });
  return {
    ...seed,
    organisations: seed.organisations.map(one =>
      one.id === ids.otherOrganisation && defaultSpaceId !== undefined ? { ...one, defaultSpaceId } : one,
    ),
    spaces: [
      ...seed.spaces.slice(0, 1),
      { id: ids.otherSpace, organisationId: ids.otherOrganisation, ...rival },
      {
        id: thirdSpace,
        organisationId: ids.otherOrganisation,
        ...rival,
        ...(domain === undefined ? {} : { domain }),
      },
    ],
    projects: [
      ...seed.projects,
      { ...rival, id: thirdProject, spaceId: thirdSpace, organisationId: ids.otherOrganisation },
    ],
    loyalty: Object.fromEntries(spaces.map(space => [space, configured(space)])),
  };
}

/** Each space has another default of points, which tells the spaces apart. */
function metricsOf(space: string): readonly object[] {
  const defaultValue = spaces.map(String).indexOf(space) + 1;
  return [
    { id: "points", title: "Points", defaultValue },
    { id: "energy", title: "Energy" },
  ];
}
const spaceWith = (points: unknown): string | undefined => spaces[Number(points) - 1];

type Credentials = Readonly<Record<string, string>>;

async function keyOf(world: TestPlatform, organisationId: string): Promise<Credentials> {
  const permissions = [
    "actions:write",
    "rewards:write",
    "users:read",
    "users:write",
    "users:export",
  ] as const;
  const { key, secret } = await world.platform.apiKeys.create({ organisationId, name: "CRM", permissions });
  return { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": organisationId };
}

/** The space in which a key writes and reads a user, asked at a Host and with a query. */
async function spaceOfKey(world: TestPlatform, headers: Credentials, query = "", host = "any.example") {
  const userId = "somebody";
  const asked = (path: string, options: CallOptions = {}): Promise<Answer> =>
    world.call(`${path}${path.includes("?") ? query.replace("?", "&") : query}`, {
      headers,
      host,
      ...options,
    });
  const update = { body: { updates: [{ userId, displayName: "Sam" }] } };
  const changed = await asked("/v1/api/audience/internal/profiles/update-batch", update);
  assert.equal(changed.status, 200, changed.text);
  const listed = await asked(`/v1/api/audience/internal/profiles?user_ids=${userId}`);
  const own = await asked(`/api/audience/profile?user_id=${userId}`);
  const tried = await asked("/internal/loyalty/dry-run", { body: { userId, action: "cheer" } });
  const issued = await asked("/api/auth/token", {
    body: { type: "service", key: headers["x-api-key"], secret: headers["x-api-secret"] },
  });
  const token: string = issued.json.data.accessToken;
  const served = await world.call(`/api/loyalty/profile?user_id=${userId}`, { token, host: "other.example" });
  const found = [
    listed.json.users[0].data.loyalty.metrics.points,
    own.json.data.loyalty.metrics.points,
    tried.json.data.profile.metrics.points,
    served.json.data.metrics.points,
  ];
  assert.equal(new Set(found).size, 1, JSON.stringify(found));
  return spaceWith(found[0]);
}

async function openAgency(open: OpenStore, more: Parameters<typeof agency>[0] = {}): Promise<TestPlatform> {
  return await openPlatform(open, { seed: agency(more) });
}

describeOnStores("one address", open => {
  it("serves the fans of every space, by their tokens", async t => {
    const world = await openAgency(open);
    t.after(() => world.dispose());
    for (const space of spaces) {
      const projectId = projects[space];
      const selector = { projectId, strategy: "simplified", provider: "noLogin" };
      const created = await world.call("/v1/user", { body: { ...selector, data: { username: "Sam" } } });
      const proof = { type: "sessionRecord", projectId, record: created.json.data };
      const issued = await world.call("/api/auth/token", { body: proof });
      assert.equal(issued.status, 200, issued.text);
      const token: string = issued.json.data.accessToken;
      const headers = { "x-platform-org-id": owners[space] };
      const profile = await world.call("/api/loyalty/profile", { token });
      assert.equal(spaceWith(profile.json.data.metrics.points), space);
      const reported = await world.call("/api/loyalty/action", {
        token,
        body: { action: "prediction", data: { outcome: "exact" } },
      });
      assert.equal(reported.status, 200);
      const config = await world.call("/api/loyalty/config", { token });
      assert.equal(spaceWith(config.json.data.metrics[0].defaultValue), space);
      const open = await world.call(`/api/loyalty/config?space_id=${space}`);
      assert.equal(spaceWith(open.json.data.metrics[0].defaultValue), space);
      for (const path of ["/v1/api/audience/profile", "/api/audience/profile"]) {
        const { json } = await world.call(path, { token, headers });
        assert.equal(json.data.userId, created.json.data.userId);
        assert.equal(json.data.loyalty.metrics.points, spaces.indexOf(space) + 1 + 3);
      }
    }
  });

  it("serves back ends by their API keys: in the space of their organisation that the query names, else the first", async t => {
    const world = await openAgency(open);
    t.after(() => world.dispose());
    const [mine, rivals] = [await keyOf(world, ids.organisation), await keyOf(world, ids.otherOrganisation)];
    assert.equal(await spaceOfKey(world, mine), ids.space);
    assert.equal(await spaceOfKey(world, rivals), ids.otherSpace);
    assert.equal(await spaceOfKey(world, rivals, `?space_id=${thirdSpace}`), thirdSpace);
    assert.equal(
      await spaceOfKey(world, rivals, `?space_id=${ids.otherSpace.toUpperCase()}`),
      ids.otherSpace,
    );
    const exported = await world.call(`/v1/api/audience/internal/users/export?space_id=${thirdSpace}`, {
      headers: rivals,
      body: { format: "json" },
    });
    assert.equal(exported.status, 202);
  });

  it("prefers the space of the Host, then the organisation's default", async t => {
    const world = await openAgency(open, { defaultSpaceId: thirdSpace });
    t.after(() => world.dispose());
    assert.equal(await spaceOfKey(world, await keyOf(world, ids.otherOrganisation)), thirdSpace);
    const hosted = await openAgency(open, { defaultSpaceId: ids.otherSpace, domain: "third.example" });
    t.after(() => hosted.dispose());
    const rivals = await keyOf(hosted, ids.otherOrganisation);
    assert.equal(await spaceOfKey(hosted, rivals), ids.otherSpace);
    assert.equal(await spaceOfKey(hosted, rivals, "", "third.example"), thirdSpace);
    assert.equal(
      await spaceOfKey(hosted, rivals, `?space_id=${ids.otherSpace}`, "third.example"),
      ids.otherSpace,
    );
    // A Host of another organisation names no space of this one.
    assert.equal(
      await spaceOfKey(hosted, await keyOf(hosted, ids.organisation), "", "third.example"),
      ids.space,
    );
  });

  it("answers for a space of another organisation as for one that does not exist", async t => {
    const world = await openAgency(open);
    t.after(() => world.dispose());
    const rivals = await keyOf(world, ids.otherOrganisation);
    const paths = ["/v1/api/audience/internal/profiles?user_ids=a&", "/internal/loyalty/pools/drinks?"];
    for (const path of paths) {
      const ask = (space: string): Promise<Answer> =>
        world.call(`${path}space_id=${space}`, { headers: rivals });
      const [foreign, unknown] = [await ask(ids.space), await ask(crypto.randomUUID())];
      for (const answer of [foreign, unknown]) assertProblem(answer, 404, "not_found");
      assert.equal(foreign.json.detail, unknown.json.detail);
      assertProblem(await ask("third"), 400, "validation_failed");
    }
    assertProblem(await world.call(`/api/loyalty/config?space_id=${crypto.randomUUID()}`), 404, "not_found");
  });

  it("has no space for a key of an organisation without any", async t => {
    const { spaces: all, projects: _, events: __, loyalty: ___, ...rest } = agency();
    const world = await openPlatform(open, {
      seed: { ...rest, spaces: all.slice(0, 1), projects: [], events: [] },
    });
    t.after(() => world.dispose());
    const headers = await keyOf(world, ids.otherOrganisation);
    const answer = await world.call("/v1/api/audience/internal/profiles?user_ids=a", { headers });
    assertProblem(answer, 404, "not_found");
  });
});
