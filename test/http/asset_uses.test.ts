/** Assets in use: they are kept, and what shows them is named. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { type CallOptions, ids, openPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

describeOnStores("assets in use", open => {
  it("keeps an asset that an event, element or template shows, and names what does", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const headers = await operatorHeaders(world);
    const call = (path: string, options: CallOptions = {}) =>
      world.call(`/api/v2${path}`, { ...options, headers });
    const file = await call(`/spaces/${ids.space}/assets?name=a.txt`, { body: "Goal" });
    const { id, attributes } = file.json.data;
    const relationships = { project: to("projects", ids.project) };
    const create = async (type: string, given: object, related: object): Promise<string> => {
      const made = await call(`/${type}`, { body: resource(type, given, { relationships: related }) });
      assert.equal(made.status, 201, made.text);
      return made.json.data.id;
    };
    const shows = (value: string) => [{ key: "image", values: { all: "none", es: value } }];
    const event = await create("events", { name: "Show" }, relationships);
    const inEvent = { event: to("events", event) };
    const element = await create(
      "elements",
      { content_type: "poll", custom_fields: shows(id.toUpperCase()) },
      inEvent,
    );
    const users = async (query = ""): Promise<readonly string[]> => {
      const answer = await call(`/assets/${id}${query}`, { method: "DELETE" });
      if (answer.status !== 409) assert.equal(answer.status, query === "" ? 204 : 200, answer.text);
      const found: readonly string[] = answer.json?.meta?.users ?? [];
      for (const user of found) assert.ok(answer.json.errors[0].detail.includes(user), answer.text);
      return found.toSorted();
    };
    const patch = async (path: string, type: string, given: object): Promise<void> => {
      const answer = await call(path, { method: "PATCH", body: resource(type, given) });
      assert.equal(answer.status, 204, answer.text);
    };
    assert.deepEqual(await users(), [`elements/${element}`]);
    assert.deepEqual(await users("?dry_run=true"), [`elements/${element}`]);
    await patch(`/events/${event}`, "events", { settings: shows(`see ${attributes.url}?w=2`) });
    const clone = (await call(`/events/${event}/clone`, { body: resource("events", { name: "Copy" }) })).json
      .data;
    const { data: copies } = (await call(`/events/${clone.id}/elements`)).json;
    const template = await create(
      "event_templates",
      { name: "T" },
      { ...relationships, event: to("events", event) },
    );
    const all = [`elements/${element}`, `elements/${copies[0].id}`, `events/${event}`, `events/${clone.id}`];
    assert.deepEqual(await users(), [...all, `event_templates/${template}`].toSorted());
    await patch(`/elements/${element}`, "elements", { custom_fields: shows("") });
    await patch(`/events/${clone.id}`, "events", { settings: shows("") });
    assert.equal((await call(`/event_templates/${template}`, { method: "DELETE" })).status, 204);
    assert.deepEqual(await users(), [`elements/${copies[0].id}`, `events/${event}`].toSorted());
    assert.equal((await call(`/elements/${copies[0].id}`, { method: "DELETE" })).status, 204);
    assert.equal((await call(`/events/${event}`, { method: "DELETE" })).status, 204);
    assert.deepEqual(await users("?dry_run=true"), []);
    assert.deepEqual(await users(), []);
    assert.equal((await world.call(new URL(attributes.url).pathname)).status, 404);
  });
});
