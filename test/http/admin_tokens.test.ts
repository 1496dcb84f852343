/** Access tokens of admins on the routes of back ends, in place of an API key. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryLimiter, createMemoryStore } from "../../adapters/memory/mod.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { errorCode } from "./_families.ts";
import {
  credentialsFor,
  type Example,
  examplesFor,
  newKey,
  type Operation,
  operationsOf,
  send,
  spareSpace,
  validExamples,
} from "./_operations.ts";
import { manyPeople, personWith } from "./_people.ts";

const organisation = { level: "organisations", id: ids.organisation } as const;
const keysPath = `/api/v2/organisations/${ids.organisation}/api_keys`;

async function open(t: { after(dispose: () => unknown): void }, options = {}): Promise<TestPlatform> {
  const world = await openPlatform(async clock => createMemoryStore({ clock }), options);
  t.after(() => world.dispose());
  return world;
}

/** Where somebody has to be an admin, by method and path; the first that fits counts. Users are the organisation's. */
const levels: readonly (readonly [RegExp, "organisation" | "space" | "project"])[] = [
  [/^\w+ \/api\/v2\/organisations\//, "organisation"],
  [/^\w+ (\/api\/v2\/spaces|\/internal\/loyalty\/pools)\//, "space"],
  [/^DELETE \/internal\/identity\/projects\/{projectId}\/users\/{userId}$/, "organisation"],
  [/^\w+ (\/internal\/identity)?\/projects\//, "project"],
  [/^\w+ (\/v1)?\/api\/audience\/|^\w+ \/internal\/loyalty\//, "organisation"],
];

function levelOf({ method, path }: Operation): string {
  return levels.find(([shape]) => shape.test(`${method} ${path}`))?.[1] ?? "nobody";
}

/** The operations that an admin's token opens, each with a request about the space and project of the test platform. */
async function sharedOperations(
  world: TestPlatform,
): Promise<readonly { readonly operation: Operation; readonly example: Example }[]> {
  const examples = await validExamples(world);
  return (await operationsOf(world))
    .filter(({ adminRole }) => adminRole !== null)
    .map(operation => {
      const { params, query, ...example } = backEndExample(operation, examples);
      const space = "spaceId" in params ? { spaceId: ids.space } : {};
      const named = operation.path.includes("{") && !operation.queryNames.includes("space_id");
      return {
        operation,
        example: {
          ...example,
          params: { ...params, ...space },
          query: named ? query : { space_id: ids.space, ...query },
        },
      };
    });
}

/** A request of a back end; on routes that users share, those have credentials of their own. */
function backEndExample(operation: Operation, examples: ReadonlyMap<string, readonly Example[]>): Example {
  const all = examplesFor(operation, examples);
  const example = all.find(({ headers }) => headers?.authorization !== undefined) ?? all[0];
  assert.ok(example);
  return example;
}

function namedBy({ path }: Operation): string {
  return /\{(organisation|space|project)Id\}/.exec(path)?.[1] ?? "space";
}

/** The statuses with which people are refused, by what the operation needs and what its path names. */
function refusalsOf(operation: Operation): Readonly<Record<string, number | null>> {
  const named = namedBy(operation);
  const level = levelOf(operation);
  const refused = (isNamed: boolean, isAdmin: boolean): number | null =>
    isAdmin ? null : isNamed ? 403 : 404;
  return {
    expired: 401,
    malformed: 401,
    revoked: 401,
    none: 404,
    other: 404,
    scoped: 404,
    viewer: 403,
    creator: 403,
    capped: 403,
    project: refused(named === "project", level === "project"),
    space: refused(named !== "organisation", level !== "organisation"),
    here: refused(named !== "organisation", level !== "organisation"),
    admin: null,
  };
}

/** True if the guard refused: the record that a request names may have been removed by the person before. */
function isRefused(answer: Answer): boolean {
  const isNoPlace =
    answer.status === 404 && /there is no such (organisation|space|project)/.test(answer.text);
  return [401, 403].includes(answer.status) || isNoPlace;
}

describe("an access token on the routes of back ends", () => {
  it("counts where its owner is an admin of what the request is about", async t => {
    const world = await open(t);
    const tokens: Record<string, string> = { ...(await manyPeople(world)) };
    const scopes = [{ kind: "space", id: ids.space }];
    tokens.here = await personWith(world, { ...organisation, role: "admin" }, { scopes });
    const faults: string[] = [];
    let shared = 0;
    for (const { operation, example } of await sharedOperations(world)) {
      const level = levelOf(operation);
      const documented = level === namedBy(operation) ? ["admin", `${level}:admin`] : [`${level}:admin`];
      if (!documented.includes(operation.adminRole ?? ""))
        faults.push(`${operation.id} asks for no ${level}`);
      const bare = await send(world, operation, { example });
      if (bare.status !== 401) faults.push(`${operation.id} as nobody: ${bare.status}`);
      for (const [who, refusal] of Object.entries(refusalsOf(operation))) {
        const headers = { ...example.headers, authorization: `Bearer ${tokens[who]}` };
        const answer = await send(world, operation, { example, headers });
        const got = isRefused(answer) ? answer.status : null;
        if (got !== refusal || answer.status >= 500) {
          faults.push(
            `${operation.id} as ${who}: ${answer.status}, not ${refusal} ${answer.text.slice(0, 200)}`,
          );
        }
        if (refusal === 401 || refusal === 403) {
          const code = errorCode(answer, operation.family);
          const codes = refusal === 403 ? ["forbidden"] : ["invalid_token", "token_expired"];
          if (!codes.includes(code)) faults.push(`${operation.id} as ${who}: ${code}`);
        }
      }
      shared++;
    }
    assert.deepEqual(faults, []);
    assert.ok(shared > 50, String(shared));
  });

  it("reaches no other space of the organisation", async t => {
    const world = await open(t);
    const scopes = [{ kind: "space", id: ids.space }];
    const tokens = [
      await personWith(world, { level: "spaces", id: ids.space, role: "admin" }),
      await personWith(world, { ...organisation, role: "admin" }, { scopes }),
    ];
    const faults: string[] = [];
    let asked = 0;
    for (const { operation, example } of await sharedOperations(world)) {
      if (namedBy(operation) !== "space") continue;
      const elsewhere = JSON.stringify(example).replaceAll(ids.space, spareSpace);
      for (const token of tokens) {
        const headers = { ...example.headers, authorization: `Bearer ${token}` };
        const { status } = await send(world, operation, { example: JSON.parse(elsewhere), headers });
        if (status !== 404) faults.push(`${operation.id}: ${status}`);
        asked++;
      }
    }
    assert.deepEqual(faults, []);
    assert.ok(asked > 50, String(asked));
  });

  it("does all that a key with every permission does", async t => {
    const world = await open(t);
    const token = await personWith(world, { ...organisation, role: "admin" });
    const faults: string[] = [];
    const examples = await validExamples(world);
    for (const { operation, example } of await sharedOperations(world)) {
      const ask = (one: Example): Promise<Answer> => {
        const headers = { ...one.headers, authorization: `Bearer ${token}` };
        return send(world, operation, {
          example: { ...one, query: { ...example.query, ...one.query } },
          headers,
        });
      };
      let answer = await ask(backEndExample(operation, examples));
      // Operations before may have used it up.
      if (answer.status > 299) answer = await ask(backEndExample(operation, await validExamples(world)));
      if (answer.status > 299) faults.push(`${operation.id}: ${answer.status} ${answer.text.slice(0, 200)}`);
      world.clock.advance(7_000);
    }
    assert.deepEqual(faults, []);
  });

  it("opens every route that takes a key in the header fields of back ends", async t => {
    const world = await open(t);
    const operations = await operationsOf(world);
    const keyOnly = operations.filter(({ scheme, adminRole }) => scheme === "apiKey" && adminRole === null);
    assert.deepEqual(keyOnly, []);
  });

  it("is not looked at beside an API key", async t => {
    const world = await open(t);
    const token = await personWith(world, { ...organisation, role: "admin" });
    const { key, secret } = await newKey(world, ids.otherOrganisation);
    const authorization = `Bearer ${token}`;
    const ask = (headers: Readonly<Record<string, string>>) => world.call(keysPath, { headers });
    assert.equal((await ask({ authorization })).status, 200);
    assert.equal((await ask({ authorization, "x-api-key": key, "x-api-secret": secret })).status, 404);
    assert.equal((await ask({ authorization, "x-api-key": key })).status, 401);
  });

  it("finds no place under what is no id", async t => {
    const world = await open(t);
    const headers = {
      authorization: `Bearer ${await personWith(world, { ...organisation, role: "admin" })}`,
    };
    for (const id of ["x", "%00", "..%2f", "0a".repeat(50), "%F0%9F%98%80"]) {
      for (const path of [
        `/api/v2/organisations/${id}/api_keys`,
        `/api/v2/spaces/${id}/loyalty`,
        `/projects/${id}/hidden-users`,
        `/internal/identity/projects/${id}/audit`,
      ]) {
        assert.equal((await world.call(path, { headers })).status, 404, path);
      }
      const named = await world.call(`/internal/loyalty/pools/drinks?space_id=${id}`, { headers });
      assert.equal(named.status, 400);
    }
    for (const id of ["x", "ÿ", "0a".repeat(2_000)]) {
      const elsewhere = { headers: { ...headers, "x-platform-org-id": id } };
      assert.equal((await world.call("/v1/api/audience/internal/exports", elsewhere)).status, 404);
    }
  });

  it("answers spaces of others like unknown ones, and ends with a revocation", async t => {
    const world = await open(t);
    const token = await personWith(world, { level: "spaces", id: ids.space, role: "admin" });
    const path = "/internal/loyalty/pools/drinks";
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await world.call(`${path}?space_id=${ids.space}`, { headers })).status, 200);
    const elsewhere = await world.call(`${path}?space_id=${ids.otherSpace}`, { headers });
    const unknown = await world.call(`${path}?space_id=0b000000-0000-4000-8000-00000000dead`, { headers });
    const { requestId: _, ...theirs } = elsewhere.json;
    const { requestId: __, ...nobodys } = unknown.json;
    assert.deepEqual(theirs, nobodys);
    const { user, token: info } = await world.platform.authors.verify(token);
    await world.platform.authors.revokeToken(user.id, info.id);
    assert.equal((await world.call(`${path}?space_id=${ids.space}`, { headers })).status, 401);
  });

  it("is named in what keeps names of callers", async t => {
    const world = await open(t);
    const token = await personWith(world, { ...organisation, role: "admin" });
    const { user, token: info } = await world.platform.authors.verify(token);
    const caller = `user:${user.id}/${info.id}`;
    const headers = { authorization: `Bearer ${token}` };
    const path = `/api/v2/spaces/${ids.space}/loyalty`;
    const { json } = await world.call(path, { headers });
    const changed = await world.call(path, {
      method: "PUT",
      headers: { ...headers, "if-match": "*" },
      body: {
        ...json.data.attributes,
        codePools: [...json.data.attributes.codePools, { id: "more", title: "More" }],
      },
    });
    assert.equal(changed.json.data.meta.created_by, caller);
    const examples = await validExamples(world);
    const [ban] = (await operationsOf(world)).filter(({ id }) => id === "banUser");
    assert.ok(ban);
    const [example] = examplesFor(ban, examples);
    assert.ok(example);
    assert.equal((await send(world, ban, { example, headers })).status, 200);
    const trail = await world.call(`/internal/identity/projects/${ids.project}/audit`, { headers });
    const banned = trail.json.data.entries.find(({ event }: { event: string }) => event === "operatorBan");
    assert.equal(banned.actor, caller);
  });

  it("has one budget for these routes and the control API, and API keys keep theirs", async t => {
    const limiter = createMemoryLimiter();
    const world = await open(t, { limiter, rateLimits: { control: { limit: 4, windowMs: 60_000 } } });
    const headers = {
      authorization: `Bearer ${await personWith(world, { ...organisation, role: "admin" })}`,
      "x-platform-org-id": ids.organisation,
    };
    const statuses: number[] = [];
    for (const path of [
      keysPath,
      "/api/v2/me",
      `/internal/identity/projects/${ids.project}/audit`,
      "/v1/api/audience/internal/exports",
      `/api/v2/spaces/${ids.space}/loyalty`,
      "/v1/api/audience/internal/exports",
      "/internal/loyalty/pools/drinks",
    ]) {
      statuses.push((await world.call(path, { headers })).status);
    }
    assert.deepEqual(statuses, [200, 200, 200, 200, 429, 429, 429]);
    const key = { ...(await credentialsFor("apiKey", world)), "x-platform-org-id": ids.organisation };
    for (let request = 0; request < 6; request++) {
      assert.equal((await world.call(keysPath, { headers: key })).status, 200);
    }
  });
});
