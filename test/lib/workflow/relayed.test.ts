/** Dialogues through the relay, as an attacker leads them: the platform, the relay and the SDK together. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import type { Outbound } from "../../../lib/base/outbound/outbound.ts";
import { text, type Workflow, workflow } from "../../../lib/workflow/mod.ts";
import { operatorHeaders, resource } from "../../http/_control_examples.ts";
import { type Answer, ids } from "../../support/platform.ts";
import { controlUrl, openWorld, send, type World } from "./_world.ts";

describe("a dialogue through the relay", () => {
  let world: World;
  let wf: Workflow<never>;
  let workflowId: string;
  let mia: string;
  let sam: string;
  /** What the backend got. */
  const bearers: string[] = [];
  let effects = 0;

  const outbound: Outbound = {
    get: () => assert.fail("Nothing is read"),
    async post({ headers, body }) {
      bearers.push(headers.authorization?.slice("Bearer ".length) ?? "");
      const response = await wf.fetch(new Request(endpoint, { method: "POST", headers, body }));
      const mediaType = response.headers.get("content-type");
      return { status: response.status, mediaType, retryAfterMs: null, text: await response.text() };
    },
  };
  const endpoint = "https://backend.example/";

  before(async () => {
    world = await openWorld(async clock => createMemoryStore({ clock }), { outbound, publicUrl: controlUrl });
    wf = workflow(world.options)
      .start(c => c.view(text`${c.user.email}`).button("go", "Go"))
      .on("go", c => {
        effects += 1;
        return c.view(text`Went ${effects}`).button("again", "Again");
      });
    mia = await world.person("mia@example.com", "creator");
    sam = await world.person("sam@example.com", "creator");
    const attributes = { name: "Go", endpoint_url: endpoint, availability: ["event", "project"] };
    const headers = await operatorHeaders(world.world);
    const made = await world.world.call("/api/v2/workflows", {
      headers,
      body: resource("workflows", attributes),
    });
    workflowId = made.json.data.id;
  });
  after(() => world.world.dispose());

  const inEvent = { type: "events", id: ids.event };
  const dispatch = (token: string, request: object, scope: object = inEvent): Promise<Answer> =>
    world.world.call(`/api/v2/workflows/${workflowId}/dispatch`, { token, body: { scope, request } });

  it("takes effect once, however often a press is sent, and by nobody else", async () => {
    const { payload } = (await dispatch(mia, {})).json;
    const press = { action: "go", payload };
    const presses = await Promise.all([dispatch(mia, press), dispatch(mia, press)]);
    assert.equal(presses.filter(({ status }) => status === 200).length > 0, true);
    const repeated = await dispatch(mia, press);
    assert.match(repeated.text, /Went 1/);
    const stolen = await dispatch(sam, press);
    assert.deepEqual([stolen.status, stolen.json.errors[0].code], [400, "validation_failed"]);
    const elsewhere = await dispatch(mia, press, { type: "projects", id: ids.project });
    assert.equal(elsewhere.status, 400);
    assert.equal(effects, 1);
  });

  it("gives the backend nothing that another backend or place takes for the person's own", async () => {
    bearers.length = 0;
    await dispatch(mia, {}, { type: "projects", id: ids.project });
    const [token = ""] = bearers;
    // A backend that got the token may speak for the person, in that project alone, until it ends.
    const context = { baseURL: controlUrl, projectId: ids.project };
    assert.equal((await send(wf, { context }, { token })).status, 200);
    for (const context of [
      { baseURL: controlUrl, projectId: ids.otherProject },
      { baseURL: controlUrl, spaceId: ids.space },
      { baseURL: controlUrl, organisationId: ids.organisation },
    ]) {
      assert.equal((await send(wf, { context }, { token })).status, 403, JSON.stringify(context));
    }
    assert.equal((await dispatch(token, {})).status, 403);
    world.world.clock.advance(600_000);
    assert.equal((await send(wf, { context }, { token })).status, 401);
  });

  it("gives the backend a token that no other backend takes", async () => {
    bearers.length = 0;
    await dispatch(mia, {});
    const [token = ""] = bearers;
    const context = { baseURL: controlUrl, eventId: ids.event };
    const other = workflow({ ...world.options, endpoint: "https://other.example" }).start(() =>
      assert.fail(),
    );
    const refused = await send(other, { context }, { token });
    assert.equal(refused.status, 403, refused.text);
    assert.match(refused.text, /for another backend/);
    assert.equal((await send(wf, { context }, { token })).status, 200);
    const both = ["https://other.example/", endpoint];
    const moved = workflow({ ...world.options, endpoint: both }).start(c => c.view(text`Hello`));
    assert.equal((await send(moved, { context }, { token })).status, 200);
  });

  it("costs the platform no question while it polls", async () => {
    await dispatch(mia, {});
    world.asked.length = 0;
    for (let count = 0; count < 5; count++) await dispatch(mia, { taskId: "nobody" });
    assert.deepEqual(world.asked, []);
  });
});
