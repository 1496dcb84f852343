/** What people and tokens with a role in one project see of what is above it. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ids, openPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { catalogueUrl } from "./_apps.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

describeOnStores("a role in one project", open => {
  it("finds the way to it in lists, its app and the names above, and nothing beside", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const headers = await operatorHeaders(world);
    const make = async (path: string, body: object): Promise<string> => {
      const made = await world.call(`/api/v2${path}`, { headers, body });
      assert.equal(made.status, 201, made.text);
      return made.json.data.id;
    };
    const ofSpace = { relationships: { space: to("spaces", ids.space) } };
    const app = await make("/apps", resource("apps", { spec_url: catalogueUrl }, ofSpace));
    const inSpace = { space: to("spaces", ids.space), app: to("apps", app) };
    const project = await make(
      "/projects",
      resource("projects", { name: "Mine" }, { relationships: inSpace }),
    );
    const beside = await make(
      "/projects",
      resource("projects", { name: "Beside" }, { relationships: inSpace }),
    );
    const organisation = { organisation: to("organisations", ids.organisation) };
    const space = await make(
      "/spaces",
      resource("spaces", { name: "Other" }, { relationships: organisation }),
    );
    await make(
      `/projects/${project}/roles`,
      resource("scope_roles", { email: "pia@example.com", role: "creator" }),
    );
    const { authors } = world.platform;
    const { id: userId } = await authors.findOrCreate("pia@example.com");
    const operator = await authors.findOrCreate("pipeline@example.com", { operator: true });
    const scopes = [{ kind: "project", id: project }] as const;
    const callers = [
      (await authors.createToken({ userId, name: "Person" })).token,
      (await authors.createToken({ userId, name: "Scoped", scopes })).token,
      (await authors.createToken({ userId: operator.id, name: "Pipeline", scopes })).token,
    ];
    for (const token of callers) {
      const read = async (path: string, status = 200) => {
        const answer = await world.call(`/api/v2${path}`, { token });
        assert.equal(answer.status, status, `${path}: ${answer.text}`);
        return answer.json;
      };
      const idsOf = async (path: string) => (await read(path)).data.map(({ id }: { id: string }) => id);
      assert.deepEqual(await idsOf("/organisations"), [ids.organisation]);
      assert.deepEqual(await idsOf(`/organisations/${ids.organisation}/spaces`), [ids.space]);
      assert.deepEqual(await idsOf(`/spaces/${ids.space}/projects`), [project]);
      assert.equal((await read(`/apps/${app}`)).data.id, app);
      const { included } = await read(`/projects/${project}?include=app,space.organisation`);
      const types = included.map(({ type }: { type: string }) => type).sort();
      assert.deepEqual(types, ["apps", "organisations", "spaces"]);
      for (const path of [`/spaces/${ids.space}`, `/organisations/${ids.organisation}`])
        assert.deepEqual(Object.keys((await read(path)).data.attributes), ["name"], path);
      for (const path of [
        `/projects/${beside}`,
        `/spaces/${space}`,
        `/organisations/${ids.otherOrganisation}`,
        `/spaces/${ids.space}/assets`,
        `/organisations/${ids.organisation}/audit`,
        `/organisations/${ids.organisation}/roles`,
      ])
        await read(path, 404);
      const change = resource("spaces", { name: "Taken" }, { id: ids.space });
      const patched = await world.call(`/api/v2/spaces/${ids.space}`, {
        token,
        method: "PATCH",
        body: change,
      });
      assert.equal(patched.status, 404);
    }
  });
});
