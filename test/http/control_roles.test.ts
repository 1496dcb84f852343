/** What each role may do, for every route of the control API, as the table of resources says. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import {
  definitionOf,
  type Resource,
  type ResourceType,
  type Role,
  resources,
} from "../../lib/authoring/table/mod.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { operatorHeaders, resource } from "./_control_examples.ts";
import { examplesFor, type Operation, operationsOf, send, validExamples } from "./_operations.ts";
import { ranks } from "./_people.ts";

/** Routes that are not made from the table. Those of a place need its role `viewer` at least. */
const special: Readonly<Record<string, "viewer" | "creator" | "admin" | "anybody" | "operator">> = {
  readMe: "anybody",
  readMyRoleInOrganisation: "anybody",
  readMyRoleInSpace: "anybody",
  readMyRoleInProject: "anybody",
  readMyRoleInEvent: "anybody",
  readMyRoleInElement: "anybody",
  listAccessTokens: "anybody",
  createAccessToken: "anybody",
  revokeAccessToken: "anybody",
  validateSpecUrl: "anybody",
  // Each operation of a batch needs the role of its resource.
  makeOperations: "anybody",
  getLiveAuthoring: "viewer",
  setPresence: "viewer",
  readProcess: "operator",
  listDeadLetterCounts: "operator",
};
/** Routes without the parameter `dry_run`. */
const withoutDryRun: ReadonlySet<string> = new Set(["uploadAsset", "dispatchWorkflow", "setPresence"]);

/** Where the examples of a type are, if not in the home that its table names. */
const otherPlaces: Readonly<Record<string, string>> = {
  scope_roles: "project",
  spaces: "another space",
  apps: "another space",
};
/** Operations whose examples are in another project. */
const elsewhereOperations: ReadonlySet<string> = new Set([
  "createProject",
  "changeProjectApp",
  "listProjectContentTypes",
  "readProjectContentType",
]);
/** Operations that show the names of homes to those who have a role below. */
const outlineOperations: ReadonlySet<string> = new Set([
  "readOrganisation",
  "readOrganisationAnnotations",
  "listOrganisationSpaces",
]);
const done = [200, 201, 202, 204, 304, 409, 422];

const table = Object.values(resources) as readonly Resource[];

/** The role that an operation needs and the kind of place that gives it, or null for a route that the table does not account for. */
function neededBy({
  id,
  method,
  path,
}: Operation): { readonly role: string; readonly type: ResourceType } | null {
  // Workflows are the platform's; the role counts where one runs.
  if (id === "dispatchWorkflow") return { role: "viewer", type: "events" };
  const known = special[id];
  const [, first = "", , last] = /^\/api\/v2\/(\w+)(\/\{\w+\})?(?:\/(\w+))?/.exec(path) ?? [];
  const found =
    last === undefined
      ? table.find(({ type }) => type === first)
      : (table.find(({ under, path: of }) => under.some(above => above === first) && of === last) ??
        table.find(({ type }) => type === first));
  if (known !== undefined) return { role: known, type: first as ResourceType };
  if (found === undefined) return null;
  return { role: method === "GET" ? found.read : found.write, type: first as ResourceType };
}

/** Somebody who calls. */
interface Caller {
  readonly isOperator?: true;
  readonly grant?: { readonly level: "organisations" | "spaces" | "projects"; readonly role: string } | null;
  /** Where the grant is, if not in the organisation, space or project of the tests. */
  readonly grantedIn?: string;
  /** Where the token works. @default everywhere */
  readonly scope?: { readonly kind: "space" | "project"; readonly id: string };
  readonly roleCap?: Role;
  readonly isExpired?: true;
}

const own = { organisations: ids.organisation, spaces: ids.space, projects: ids.project };
const admin = { level: "organisations", role: "admin" } as const;
const here = { kind: "space", id: ids.space } as const;
const inProject = { kind: "project", id: ids.project } as const;
const elsewhere = { kind: "space", id: ids.otherSpace } as const;

/** Callers of every kind of role, scope and cap. */
const callers: Readonly<Record<string, Caller>> = {
  nobody: { grant: null },
  viewer: { grant: { level: "organisations", role: "viewer" } },
  creator: { grant: { level: "organisations", role: "creator" } },
  admin: { grant: admin },
  "an admin of another organisation": { grant: admin, grantedIn: ids.otherOrganisation },
  "an admin of the space": { grant: { level: "spaces", role: "admin" } },
  "a viewer of the space": { grant: { level: "spaces", role: "viewer" } },
  "an admin of the project": { grant: { level: "projects", role: "admin" } },
  "a creator of the project": { grant: { level: "projects", role: "creator" } },
  "an admin, capped to viewer": { grant: admin, roleCap: "viewer" },
  "an admin, capped to creator": { grant: admin, roleCap: "creator" },
  "an admin in the space": { grant: admin, scope: here },
  "an admin in the project": { grant: admin, scope: inProject },
  "an admin in another space": { grant: admin, scope: elsewhere },
  "an admin in the project, capped": { grant: admin, scope: inProject, roleCap: "viewer" },
  "an admin with an expired token": { grant: admin, isExpired: true },
  operator: { isOperator: true },
  "an operator in the space": { isOperator: true, scope: here },
  "an operator in the project": { isOperator: true, scope: inProject },
  "an operator in another space": { isOperator: true, scope: elsewhere },
  "an operator, capped to viewer": { isOperator: true, roleCap: "viewer" },
  "an operator, capped to creator": { isOperator: true, roleCap: "creator" },
  "an operator in the space, capped": { isOperator: true, scope: here, roleCap: "viewer" },
  "an operator with an expired token": { isOperator: true, isExpired: true },
};

/** Creates the callers, and returns their tokens. Moves the clock, so that expired tokens are. */
async function tokensOf(world: TestPlatform): Promise<ReadonlyMap<string, string>> {
  const { authors } = world.platform;
  const tokens = new Map<string, string>();
  const headers = await operatorHeaders(world);
  for (const [name, { isOperator = false, grant = null, grantedIn, ...limits }] of Object.entries(callers)) {
    const email = `${tokens.size}@callers.example`;
    const { id: userId } = await authors.findOrCreate(email, { operator: isOperator });
    if (grant !== null) {
      const path = `/api/v2/${grant.level}/${grantedIn ?? own[grant.level]}/roles`;
      const granted = await world.call(path, {
        headers,
        body: resource("scope_roles", { email, role: grant.role }),
      });
      assert.equal(granted.status, 201, granted.text);
    }
    const { scope, roleCap, isExpired } = limits;
    const { token } = await authors.createToken({
      ...{ userId, name, roleCap: roleCap ?? null, scopes: scope === undefined ? null : [scope] },
      expires: isExpired === undefined ? null : Math.floor(world.clock.now() / 1_000) + 1,
    });
    tokens.set(name, token);
  }
  world.clock.advance(2_000);
  return tokens;
}

/** Where the example of an operation is, the innermost place first; null: it is the platform's. */
function homesOf({ id }: Operation, { role, type }: NonNullable<ReturnType<typeof neededBy>>) {
  if (type === "workflows" || role === "operator" || id === "createOrganisation") return null;
  const place = otherPlaces[type] ?? definitionOf(type)?.home;
  if (place === "project" && !elsewhereOperations.has(id)) return [ids.project, ids.space, ids.organisation];
  if (place === "space") return [ids.space, ids.organisation];
  return place === "organisation" ? [ids.organisation] : ["another space", ids.organisation];
}

const order = ["none", ...ranks];

/** The role of a caller in the places of an example, said once more and by itself. */
function roleOf({ isOperator, grant, grantedIn, scope, roleCap }: Caller, homes: readonly string[] | null) {
  const isWithin = scope === undefined || homes === null || homes.includes(scope.id);
  const place = grant === null || grant === undefined ? "" : (grantedIn ?? own[grant.level]);
  const granted = homes?.includes(place) ? (grant?.role ?? "none") : "none";
  // Everybody reads what the platform offers; the token of some places is no operator's there.
  const given =
    homes === null
      ? isOperator && scope === undefined
        ? "admin"
        : "viewer"
      : isOperator
        ? "admin"
        : granted;
  const role = isWithin ? given : "none";
  return roleCap !== undefined && order.indexOf(roleCap) < order.indexOf(role) ? roleCap : role;
}

function expectedOf(caller: Caller, operation: Operation): readonly number[] {
  const needed = neededBy(operation);
  assert.ok(needed !== null);
  if (caller.isExpired) return [401];
  const homes = homesOf(operation, needed);
  const role = roleOf(caller, homes);
  const isBelow = roleOf(caller, [ids.project, ids.space, ids.organisation]) !== "none";
  if (role === "none") return outlineOperations.has(operation.id) && isBelow ? done : [404];
  // What operators alone may read does not depend on a cap.
  const isRead = operation.method === "GET";
  const isOperator = caller.isOperator === true && caller.scope === undefined;
  if (needed.role === "operator" && isRead) return isOperator ? done : [403];
  const least = needed.role === "operator" || operation.id === "createOrganisation" ? "admin" : needed.role;
  return order.indexOf(role) >= order.indexOf(least) ? done : [403];
}

describe("roles of the control API", () => {
  it("are asked for by every route, as the table says, whatever a token is limited to", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    t.after(() => world.dispose());
    const examples = await validExamples(world);
    const routes = (await operationsOf(world)).filter(({ scheme }) => scheme === "accessToken");
    const tokens = await tokensOf(world);
    const faults: string[] = [];
    let asked = 0;
    for (const operation of routes) {
      const needed = neededBy(operation);
      const [example] = examplesFor(operation, examples);
      if (needed === null || example === undefined) {
        faults.push(`${operation.id}: neither in the table nor special`);
        continue;
      }
      const isWhole = operation.method === "GET" || withoutDryRun.has(operation.id);
      const query = isWhole ? example.query : { ...example.query, dry_run: "true" };
      const ask = async (authorization: string) =>
        await send(world, operation, {
          example: { ...example, query, headers: {} },
          headers: { ...example.headers, authorization },
        });
      for (const text of ["", "Bearer gst_x"]) {
        const { status } = await ask(text);
        if (status !== 401) faults.push(`${operation.id} with ${text}: ${status}`);
      }
      if (needed.role === "anybody" || operation.id === "listOrganisations") continue;
      for (const [who, token] of tokens) {
        const expected = expectedOf(callers[who] ?? {}, operation);
        const { status } = await ask(`Bearer ${token}`);
        if (!expected.includes(status)) faults.push(`${operation.id} as ${who}: ${status}, not ${expected}`);
        asked++;
      }
    }
    assert.deepEqual(faults, []);
    assert.ok(asked > 1_000, `${asked} requests`);
  });
});
