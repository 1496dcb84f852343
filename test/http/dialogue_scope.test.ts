/** What the token of a dialogue in an event reaches, route by route. */

import assert from "node:assert/strict";
import { it } from "node:test";
import type { Outbound } from "../../lib/base/outbound/outbound.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";
import { personWith } from "./_people.ts";

describeOnStores("the token of a dialogue in an event", open => {
  it("reaches the event and its elements, reads what is above, and finds nothing else of the project", async t => {
    const bearers: string[] = [];
    const outbound: Outbound = {
      get: () => assert.fail("Nothing is read"),
      async post({ headers }) {
        bearers.push(headers.authorization?.slice("Bearer ".length) ?? "");
        return { status: 200, mediaType: "application/json", retryAfterMs: null, text: '{"blocks":[]}' };
      },
    };
    const world = await openPlatform(open, { outbound });
    t.after(() => world.dispose());
    const operator = await operatorHeaders(world);
    const ada = await personWith(world, { level: "organisations", id: ids.organisation, role: "admin" });
    const make = async (type: string, attributes: object, relationships: object = {}): Promise<string> => {
      const body = resource(type, attributes, { relationships });
      const made = await world.call(`/api/v2/${type}`, { headers: operator, body });
      assert.equal(made.status, 201, made.text);
      return made.json.data.id;
    };
    const endpoint = { endpoint_url: "https://a.example/", availability: ["event"] };
    const workflow = await make("workflows", { name: "Line-up", ...endpoint });
    const inProject = { project: to("projects", ids.project) };
    const poll = { content_type: "poll" };
    const [own, other] = [
      await make("events", { name: "Own" }, inProject),
      await make("events", { name: "Other" }, inProject),
    ];
    const [mine, theirs] = [
      await make("elements", poll, { event: to("events", own) }),
      await make("elements", poll, { event: to("events", other) }),
    ];
    const template = await make("event_templates", { name: "Template" }, inProject);
    const scope = { type: "events", id: own };
    const dispatched = await world.call(`/api/v2/workflows/${workflow}/dispatch`, {
      token: ada,
      body: { scope, request: {} },
    });
    assert.equal(dispatched.status, 200, dispatched.text);
    const minted = await world.call("/api/v2/access_tokens", {
      token: ada,
      body: resource("access_tokens", {
        ...{ name: "Run", kind: "dialogue", audience: "https://a.example/" },
        scopes: [scope],
      }),
    });
    assert.equal(minted.status, 201, minted.text);
    const named = (type: string, of: string) => resource(type, { name: "New" }, { id: of });
    const added = (event: string) => ({
      op: "add",
      data: resource("elements", poll, { relationships: { event: to("events", event) } }).data,
    });
    const renamed = (of: string) => ({ op: "update", data: named("events", of).data });
    const order = (of: string) => ({ data: [{ type: "elements", id: of }] });
    const rows: readonly (readonly [number, string, string, object?])[] = [
      [200, "GET", `/events/${own}?include=project.app,stats,my_role`],
      [200, "GET", `/events/${own}/elements`],
      [200, "GET", `/elements/${mine}?include=event.project`],
      [200, "GET", `/projects/${ids.project}`],
      [204, "PATCH", `/events/${own}`, named("events", own)],
      [204, "PATCH", `/events/${own}/annotations`, resource("events", { annotations: { a: "b" } })],
      [204, "PATCH", `/events/${own}/relationships/elements`, order(mine)],
      [204, "PATCH", `/elements/${mine}`, named("elements", mine)],
      [200, "POST", "/operations?dry_run=true", { "atomic:operations": [added(own), renamed(own)] }],
      [404, "GET", `/events/${other}`],
      [404, "GET", `/events/${other}/annotations`],
      [404, "GET", `/events/${other}/elements`],
      [404, "GET", `/elements/${theirs}`],
      [404, "PATCH", `/events/${other}`, named("events", other)],
      [404, "PATCH", `/events/${other}/annotations`, resource("events", { annotations: { a: "b" } })],
      [404, "PATCH", `/events/${other}/relationships/elements`, order(theirs)],
      [404, "DELETE", `/events/${other}`],
      [404, "PATCH", `/elements/${theirs}`, named("elements", theirs)],
      [404, "DELETE", `/elements/${theirs}`],
      [404, "POST", "/operations", { "atomic:operations": [added(own), added(other)] }],
      [404, "POST", "/operations", { "atomic:operations": [renamed(own), renamed(other)] }],
      [404, "POST", "/elements", { data: added(other).data }],
      [404, "POST", "/events", resource("events", { name: "New" }, { relationships: inProject })],
      [404, "POST", `/events/${own}/clone`, resource("events", { name: "Copy" })],
      [404, "GET", `/projects/${ids.project}/events`],
      [404, "GET", `/projects/${ids.project}/event_templates`],
      [404, "GET", `/event_templates/${template}`],
      [404, "DELETE", `/event_templates/${template}`],
      [404, "PATCH", `/projects/${ids.project}`, named("projects", ids.project)],
      [404, "GET", `/projects/${ids.project}/audit`],
      [404, "GET", `/projects/${ids.project}/roles`],
      [404, "GET", `/spaces/${ids.space}`],
      [404, "GET", `/organisations/${ids.organisation}`],
    ];
    for (const token of [...bearers, minted.json.data.attributes.token]) {
      for (const [expected, method, path, body] of rows) {
        const answer = await world.call(`/api/v2${path}`, { token, method, body });
        assert.equal(answer.status, expected, `${method} ${path}: ${answer.text}`);
      }
      const included = await world.call(`/api/v2/events/${own}?include=my_role`, { token });
      assert.equal(included.json.included[0].attributes.role, "admin");
    }
    for (const attributes of [
      { name: "Long", scopes: [scope] },
      { name: "Long", audience: "https://a.example/" },
    ]) {
      const body = resource("access_tokens", attributes);
      assert.equal((await world.call("/api/v2/access_tokens", { token: ada, body })).status, 422);
    }
  });
});
