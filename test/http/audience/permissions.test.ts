/** The permissions of every operation of the audience API, with every kind of wrong credentials. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Permission, permissions } from "../../../lib/auth/mod.ts";
import { type UserScope, userScopes } from "../../../lib/fans/space_tokens/mod.ts";
import {
  type Answer,
  type CallOptions,
  ids,
  openPlatform,
  otherHost,
  type TestPlatform,
} from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { type Operation, operationsOf } from "../_operations.ts";
import { assertProblem } from "../_problem.ts";

/** The demands of an operation: a scope of users, a permission of back ends, or either. */
interface Demand {
  readonly scope?: UserScope;
  readonly permission?: Permission;
}

/** Every operation. The first test fails if one is missing. */
const rows: Readonly<Record<string, Demand>> = {
  getAudienceProfile: { scope: "audience:read" },
  patchAudienceProfile: { scope: "audience:write" },
  listAudienceTransactions: { scope: "audience:read" },
  listAudienceChallenges: { scope: "audience:read" },
  listAudienceNotifications: { scope: "audience:read" },
  readAudienceNotification: { scope: "audience:write" },
  listAudienceProducts: { scope: "audience:read" },
  redeemAudienceProduct: { scope: "audience:write" },
  listAudienceProfiles: { permission: "users:read" },
  updateAudienceProfiles: { permission: "users:write" },
  importAudienceUsers: { permission: "users:write" },
  queueAction: { permission: "actions:write" },
  queueActions: { permission: "actions:write" },
  getActionBatch: { permission: "actions:write" },
  listDeadActions: { permission: "actions:write" },
  replayDeadActions: { permission: "actions:write" },
  giveRewards: { permission: "rewards:write" },
  searchAudienceUsers: { permission: "users:read" },
  exportAudienceUsers: { permission: "users:export" },
  getUserData: { permission: "users:export" },
  getAudienceExport: { permission: "users:read" },
  listAudienceExports: { permission: "users:read" },
  listAudienceExportTrail: { permission: "users:export" },
  getAudienceExportWebhook: { permission: "users:export" },
  getSpaceProfiles: { scope: "audience:read", permission: "users:read" },
  putSpaceProfiles: { scope: "audience:write", permission: "users:write" },
  listSpaceTransactions: { scope: "audience:read", permission: "users:read" },
  listSpaceChallenges: { scope: "audience:read", permission: "users:read" },
  listSpaceNotifications: { scope: "audience:read", permission: "users:read" },
  putAudienceActions: { scope: "audience:write", permission: "actions:write" },
  postAudienceActions: { scope: "audience:write", permission: "actions:write" },
  putAudienceRewards: { scope: "audience:write", permission: "rewards:write" },
  postAudienceRewards: { scope: "audience:write", permission: "rewards:write" },
};

/** Part of all data of the victim, so that no reply to others may contain it. */
const secret = "Marker-7f3a";
const victim = "victim-of-curiosity";

/** Makes credentials of every kind, right and wrong. */
class Desk {
  readonly world: TestPlatform;
  #keyOfTokens: Promise<Record<string, string>> | undefined;

  constructor(world: TestPlatform) {
    this.world = world;
  }

  async user(scope: readonly string[], userId = "ann"): Promise<Record<string, string>> {
    return await this.#token({ kind: "user", userId, projectId: ids.project, scope });
  }

  async service(granted: readonly Permission[]): Promise<Record<string, string>> {
    this.#keyOfTokens ??= this.key(permissions);
    const { "x-api-key": keyId = "" } = await this.#keyOfTokens;
    return await this.#token({ kind: "service", keyId, permissions: granted });
  }

  async key(
    granted: readonly Permission[],
    organisationId: string = ids.organisation,
  ): Promise<Record<string, string>> {
    const key = await this.world.platform.apiKeys.create({ organisationId, name: "k", permissions: granted });
    return { "x-api-key": key.key, "x-api-secret": key.secret };
  }

  /** A token of the other organisation's space. */
  async stranger(): Promise<Record<string, string>> {
    const space = await this.world.platform.directory.spaceOfHost(otherHost);
    assert.ok(space !== null);
    const caller = { organisationId: ids.otherOrganisation, spaceId: ids.otherSpace } as const;
    const { accessToken } = await this.world.platform.spaceTokens.issue(space, {
      ...caller,
      kind: "user",
      userId: "ann",
      projectId: ids.otherProject,
    });
    return { authorization: `Bearer ${accessToken}` };
  }

  async #token(
    who:
      | { kind: "user"; userId: string; projectId: string; scope: readonly string[] }
      | { kind: "service"; keyId: string; permissions: readonly string[] },
  ): Promise<Record<string, string>> {
    const space = await this.world.platform.directory.space(ids.space);
    assert.ok(space !== null);
    const caller = { ...who, organisationId: ids.organisation, spaceId: ids.space };
    const { accessToken } = await this.world.platform.spaceTokens.issue(space, caller);
    return { authorization: `Bearer ${accessToken}` };
  }
}

const named = { "x-platform-org-id": ids.organisation };
const misnamed = { "x-platform-org-id": ids.otherOrganisation };
type Case = readonly [what: string, headers: Record<string, string>, status: number, code: string];

/** The credentials that an operation for users must refuse. */
async function userCases(desk: Desk, scope: UserScope): Promise<readonly Case[]> {
  const lacking = userScopes.filter(one => one !== scope);
  const permitted = await desk.user([scope]);
  return [
    ["no header", permitted, 400, "validation_failed"],
    ["an empty header", { ...permitted, "x-platform-org-id": "" }, 400, "validation_failed"],
    ["another organisation's header", { ...permitted, ...misnamed }, 403, "org_mismatch"],
    ["another organisation's token", { ...(await desk.stranger()), ...named }, 403, "org_mismatch"],
    ["a token without the scope", { ...(await desk.user(lacking)), ...named }, 403, "insufficient_scope"],
    ["a token without scopes", { ...(await desk.user([])), ...named }, 403, "insufficient_scope"],
  ];
}

/** The credentials that an operation for API keys must refuse. */
async function keyCases(desk: Desk, permission: Permission): Promise<readonly Case[]> {
  const others = permissions.filter(one => one !== permission);
  const permitted = await desk.key([permission]);
  const foreign = await desk.key([permission], ids.otherOrganisation);
  return [
    ["a key and no header", permitted, 400, "validation_failed"],
    ["a key and another organisation's header", { ...permitted, ...misnamed }, 403, "org_mismatch"],
    [
      "a key with every other permission",
      { ...(await desk.key(others)), ...named },
      403,
      "insufficient_scope",
    ],
    ["another organisation's key", { ...foreign, ...named }, 403, "org_mismatch"],
    ["a wrong secret", { ...permitted, "x-api-secret": "wrong", ...named }, 401, "invalid_api_key"],
  ];
}

async function casesOf(desk: Desk, { scope, permission }: Demand): Promise<readonly Case[]> {
  const anyone = await desk.user(userScopes);
  const service = await desk.service(permissions);
  if (permission === undefined) {
    assert.ok(scope !== undefined);
    return [
      ["no credentials", named, 401, "missing_token"],
      ["a key alone", { ...(await desk.key(permissions)), ...named }, 401, "missing_token"],
      ["a service token", { ...service, ...named }, 403, "forbidden"],
      ...(await userCases(desk, scope)),
    ];
  }
  if (scope === undefined) {
    return [
      ["no credentials", named, 401, "missing_api_key"],
      ["a user's token", { ...anyone, ...named }, 401, "missing_api_key"],
      ["a service token", { ...service, ...named }, 401, "missing_api_key"],
      ...(await keyCases(desk, permission)),
    ];
  }
  const others = permissions.filter(one => one !== permission);
  const weak = { ...(await desk.service(others)), ...named };
  return [
    ["no credentials", named, 401, "missing_token"],
    ["a service token without the permission", weak, 403, "insufficient_scope"],
    ["a service token and another header", { ...service, ...misnamed }, 403, "org_mismatch"],
    ["a service token and no header", service, 400, "validation_failed"],
    ...(await userCases(desk, scope)),
    ...(await keyCases(desk, permission)),
  ];
}

/** A request that names the victim wherever it can name a user. */
function aboutVictim({ path, method, queryNames, hasBody }: Operation): [path: string, options: CallOptions] {
  const filled = path.replace(/\{\w+\}/g, "1750000000000-0");
  const query = queryNames.includes("user_ids") ? `?user_ids=${victim}` : "";
  const data = path.includes("profile") ? { displayName: "x" } : { action: "cheer" };
  const body = [{ user_id: victim, data }];
  return [`${filled}${query}`, { method, ...(hasBody ? { body } : {}) }];
}

describeOnStores("the permissions of the audience API", open => {
  let world: TestPlatform;
  let desk: Desk;
  let operations: readonly Operation[] = [];

  before(async () => {
    world = await openPlatform(open);
    desk = new Desk(world);
    operations = (await operationsOf(world)).filter(({ headers }) => "x-platform-org-id" in headers);
    const key = await desk.key(permissions);
    const update = { userId: victim, displayName: secret, metrics: { points: { op: "set", value: 1 } } };
    const { status } = await world.call("/v1/api/audience/internal/profiles/update-batch", {
      headers: { ...key, ...named },
      body: [update],
    });
    assert.equal(status, 200);
  });
  after(() => world.dispose());

  function ask(operation: Operation, headers: Record<string, string>): Promise<Answer> {
    const [path, options] = aboutVictim(operation);
    return world.call(path, { ...options, headers });
  }

  function operation(id: string): Operation {
    const found = operations.find(one => one.id === id);
    assert.ok(found !== undefined, id);
    return found;
  }

  it("are listed for every operation", () => {
    assert.deepEqual(operations.map(({ id }) => id).sort(), Object.keys(rows).sort());
  });

  for (const [id, demand] of Object.entries(rows)) {
    describe(`of ${id}`, () => {
      it("refuse wrong credentials and reveal nothing", async () => {
        const row = operation(id);
        for (const [what, headers, status, code] of await casesOf(desk, demand)) {
          const answer = await ask(row, headers);
          assert.deepEqual([answer.status, answer.json.code], [status, code], `${id} with ${what}`);
          assertProblem(answer, status, code);
          assert.ok(row.statuses.has(status), `${id} does not document ${status}`);
          assert.ok(!answer.text.includes(secret), what);
          assert.equal("data" in answer.json, false, what);
        }
      });

      if (demand.scope !== undefined) {
        it("let users reach only themselves", async () => {
          const answer = await ask(operation(id), { ...(await desk.user([demand.scope ?? ""])), ...named });
          assert.ok(!answer.text.includes(secret), answer.text);
          if (demand.permission !== undefined) assertProblem(answer, 403, "forbidden");
          else assert.notEqual(answer.json.data?.userId, victim);
        });
      }
      if (demand.permission !== undefined) {
        it("admit back ends with the permission", async () => {
          const granted = [demand.permission ?? "users:read"] as const;
          const ways = [await desk.key(granted)];
          if (demand.scope !== undefined) ways.push(await desk.service(granted));
          for (const headers of ways) {
            const { status } = await ask(operation(id), { ...headers, ...named });
            assert.ok(status !== 401 && status !== 403, `${id} ${status}`);
          }
        });
      }
    });
  }

  it("do not let a user change others", async () => {
    const key = { ...(await desk.key(permissions)), ...named };
    const { json } = await world.call(`/api/audience/profile?user_ids=${victim}`, { headers: key });
    assert.equal(json.users[0].data.loyalty.metrics.points, 1);
  });
});
