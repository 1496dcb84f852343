/** The control API over every store. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { errorCode } from "./_families.ts";

type Call = (
  path: string,
  options?: { method?: string; body?: unknown; headers?: Record<string, string> },
) => Promise<Answer>;

/** Returns calls of the control API with an operator's token. */
async function operator(world: TestPlatform): Promise<Call> {
  const user = await world.platform.authors.findOrCreate("op@example.com", { operator: true });
  const { token } = await world.platform.authors.createToken({ userId: user.id, name: "Test" });
  return (path, { headers = {}, ...options } = {}) =>
    world.call(`/api/v2${path}`, { ...options, headers: { authorization: `Bearer ${token}`, ...headers } });
}

const one = (type: string, id: string) => ({ data: { type, id } });

describeOnStores("control API", open => {
  async function opened(t: TestContext) {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    return { world, call: await operator(world) };
  }

  it("answers the current user and roles", async t => {
    const { call } = await opened(t);
    const me = await call("/me");
    assert.equal(me.status, 200, me.text);
    assert.deepEqual(me.json.data.attributes, {
      name: "op",
      email: "op@example.com",
      system_role: "operator",
    });
    const role = await call(`/projects/${ids.project}/my_role`);
    assert.equal(role.json.data.attributes.role, "admin");
  });

  it("reads what a seed wrote", async t => {
    const { call } = await opened(t);
    const project = await call(`/projects/${ids.project}?include=space.organisation`);
    assert.equal(project.status, 200, project.text);
    assert.deepEqual(
      project.json.included.map(({ type }: { type: string }) => type),
      ["spaces", "organisations"],
    );
    const events = await call(`/projects/${ids.project}/events?include=project&page%5Bcount%5D=5`);
    assert.equal(events.status, 200, events.text);
    assert.deepEqual(
      events.json.data.map(({ id }: { id: string }) => id),
      [ids.event],
    );
  });

  it("creates an event with elements, starts it and publishes", async t => {
    const { world, call } = await opened(t);
    const created = await call("/events", {
      body: {
        data: {
          type: "events",
          attributes: { name: "Show", duration: 60 },
          relationships: { project: one("projects", ids.project) },
        },
      },
    });
    assert.equal(created.status, 201, created.text);
    const { id } = created.json.data;
    assert.equal(created.json.data.attributes.state, "future");
    assert.equal(created.headers.get("location"), created.json.data.links.self);
    const element = await call("/elements", {
      body: {
        data: {
          type: "elements",
          attributes: {
            content_type: "poll",
            question: { fields: [{ key: "text", values: { all: "Who?" } }] },
          },
          relationships: { event: one("events", id) },
        },
      },
    });
    assert.equal(element.status, 201, element.text);
    const elementId = element.json.data.id;
    const publish = {
      method: "PATCH",
      body: { data: { type: "elements", id: elementId, attributes: { action: "publish" } } },
    };
    const early = await call(`/elements/${elementId}`, publish);
    assert.equal(early.status, 422, early.text);
    assert.equal(early.json.errors[0].source.pointer, "/data/attributes/action");
    const started = await call(`/events/${id}`, {
      method: "PATCH",
      body: { data: { type: "events", id, attributes: { action: "start" } } },
    });
    assert.equal(started.status, 204, started.text);
    assert.equal((await call(`/elements/${elementId}`, publish)).status, 204);
    const read = await call(`/elements/${elementId}?include=event.project`);
    assert.equal(read.json.data.attributes.state, "current");
    world.clock.advance(61_000);
    assert.equal((await call(`/events/${id}`)).json.data.attributes.state, "past");
    assert.equal((await call(`/elements/${elementId}`)).json.data.attributes.state, "past");
  });

  it("tells all faults of a body at once", async t => {
    const { call } = await opened(t);
    const answer = await call("/events", {
      body: {
        data: {
          type: "events",
          attributes: { name: "", duration: -1, colour: "red" },
          relationships: { project: one("projects", ids.project) },
        },
      },
    });
    assert.equal(errorCode(answer, "jsonApi"), "unprocessable");
    assert.equal(answer.status, 422);
    assert.deepEqual(
      answer.json.errors.map(({ source }: { source: { pointer: string } }) => source.pointer).sort(),
      ["/data/attributes/colour", "/data/attributes/duration", "/data/attributes/name"],
    );
  });

  it("hides what the caller has no role on", async t => {
    const { world, call } = await opened(t);
    const user = await world.platform.authors.findOrCreate("sam@example.com");
    const { token } = await world.platform.authors.createToken({ userId: user.id, name: "Test" });
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await call(`/projects/${ids.project}`, { headers })).status, 404);
    const granted = await call(`/projects/${ids.project}/roles`, {
      body: { data: { type: "scope_roles", attributes: { email: "sam@example.com", role: "viewer" } } },
    });
    assert.equal(granted.status, 201, granted.text);
    world.clock.advance(1_000);
    assert.equal((await call(`/projects/${ids.project}`, { headers })).status, 200);
    const refused = await call("/events", {
      headers,
      body: {
        data: {
          type: "events",
          attributes: { name: "Show" },
          relationships: { project: one("projects", ids.project) },
        },
      },
    });
    assert.equal(refused.status, 403, refused.text);
  });
});
