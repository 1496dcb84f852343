/** What each role may do, for every route of the control API, as the table of resources says. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { type Resource, type ResourceType, resources } from "../../lib/authoring/mod.ts";
import { openPlatform } from "../support/platform.ts";
import {
  type Example,
  examplesFor,
  type Operation,
  operationsOf,
  send,
  validExamples,
} from "./_operations.ts";
import { manyPeople, ranks } from "./_people.ts";

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
  readProcess: "operator",
  listDeadLetterCounts: "operator",
};
/** Routes without the parameter `dry_run`. */
const withoutDryRun: ReadonlySet<string> = new Set(["uploadAsset", "dispatchWorkflow"]);

/** Types whose examples are in the project, and the answers to somebody with the role. */
const inProjects: ReadonlySet<string> = new Set([
  "projects",
  "events",
  "elements",
  "event_templates",
  "scope_roles",
]);
/** Types whose examples are in the space, beside those in its project. */
const inSpace: ReadonlySet<string> = new Set(["assets", "tags"]);
/** Operations whose examples are in another project. */
const elsewhereOperations: ReadonlySet<string> = new Set([
  "createProject",
  "changeProjectApp",
  "listProjectContentTypes",
  "readProjectContentType",
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
      : (table.find(({ lists }) => lists.some(list => list.under === first && list.path === last)) ??
        table.find(({ type }) => type === first));
  if (known !== undefined) return { role: known, type: first as ResourceType };
  if (found === undefined) return null;
  return { role: method === "GET" ? found.read : found.write, type: first as ResourceType };
}

describe("roles of the control API", () => {
  it("are asked for by every route, as the table says", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    t.after(() => world.dispose());
    const examples = await validExamples(world);
    const routes = (await operationsOf(world)).filter(({ scheme }) => scheme === "accessToken");
    const tokens = await manyPeople(world);
    const status = async (operation: Operation, example: Example, token?: string): Promise<number> => {
      const isWhole = operation.method === "GET" || withoutDryRun.has(operation.id);
      const query = isWhole ? example.query : { ...example.query, dry_run: "true" };
      const headers = { ...example.headers, authorization: token === undefined ? "" : `Bearer ${token}` };
      return (await send(world, operation, { example: { ...example, query, headers: {} }, headers })).status;
    };
    const faults: string[] = [];
    for (const operation of routes) {
      const needed = neededBy(operation);
      const [example] = examplesFor(operation, examples);
      if (needed === null || example === undefined) {
        faults.push(`${operation.id}: neither in the table nor special`);
        continue;
      }
      const expect = async (who: string, expected: readonly number[]): Promise<void> => {
        const got = await status(operation, example, tokens[who]);
        if (!expected.includes(got)) faults.push(`${operation.id} as ${who}: ${got}, not ${expected}`);
      };
      await expect("nobody", [401]);
      await expect("expired", [401]);
      await expect("revoked", [401]);
      await expect("malformed", [401]);
      const isFree =
        needed.role === "anybody" || needed.type === "workflows" || operation.id === "listOrganisations";
      const refused = needed.role === "operator" ? [403] : [404];
      if (isFree && needed.role !== "operator") continue;
      const ownsNothing = needed.type === "organisations" && operation.id === "createOrganisation";
      for (const who of ["none", "other", "scoped"]) await expect(who, ownsNothing ? [403] : refused);
      const isInProject = inProjects.has(needed.type) && !elsewhereOperations.has(operation.id);
      if (!ownsNothing && needed.role !== "operator") {
        await expect("project", isInProject ? done : [404]);
        await expect("space", isInProject || inSpace.has(needed.type) ? done : [404]);
      }
      for (const who of [...ranks, "capped"]) {
        const role = who === "capped" ? "viewer" : who;
        const isEnough = ranks.indexOf(role as "viewer") >= ranks.indexOf(needed.role as "viewer");
        const isRefused = needed.role === "operator" || ownsNothing || !isEnough;
        await expect(who, isRefused ? [403] : done);
      }
    }
    assert.deepEqual(faults, []);
    assert.ok(routes.length > 30);
  });
});
