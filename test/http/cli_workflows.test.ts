/** Workflows from their registration to their end: commands, relay and backend together. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import type { Outbound } from "../../lib/base/outbound/outbound.ts";
import { alert, input, textInput, workflow } from "../../lib/workflow/mod.ts";
import { ids } from "../support/platform.ts";
import { type CliWorld, openCliWorld } from "./_cli_examples.ts";

const endpoint = "https://quiz.example/rename";

describe("workflows of a platform", () => {
  let world: CliWorld;
  const asked: string[] = [];

  const rename = workflow({
    name: "rename",
    secret: new MasterSecret("a secret of a backend, long enough to be accepted"),
    store: createMemoryStore(),
    control: "https://api.example",
    endpoint,
    require: { scope: ["event"], role: "creator" },
    fetch: async (url, init) => {
      asked.push(new URL(url).pathname);
      return await world.platform.fetch(new Request(url, init), {});
    },
  });
  rename.start(c => c.view(input.text("name", "New name")).button("go", "Rename"));
  rename.on("go", { inputs: { name: textInput() } }, async (c, { name }) => {
    const { eventId } = c.context;
    await c.api.patch(`/events/${eventId}`, { data: { type: "events", id: eventId, attributes: { name } } });
    return c.view(alert("success", `Renamed by ${c.user.email} as ${c.role}`)).end();
  });

  const outbound: Outbound = {
    get: () => assert.fail("Nothing is read"),
    async post({ url, headers, body }) {
      assert.equal(url, endpoint);
      const response = await rename.fetch(new Request(url, { method: "POST", headers, body }));
      const mediaType = response.headers.get("content-type")?.split(";")[0] ?? null;
      return { status: response.status, mediaType, retryAfterMs: null, text: await response.text() };
    },
  };
  before(async () => {
    world = await openCliWorld({ outbound, publicUrl: "https://api.example" });
  });
  after(() => world.dispose());

  it("are registered once by their names, listed by scope, run and removed", async () => {
    const register = `workflow register Rename --endpoint ${endpoint} --availability`;
    const first = await world.cli(`${register} project --disabled --json`);
    assert.deepEqual(
      [first.code, first.json.data.availability, first.json.data.enabled],
      [0, ["project"], false],
    );
    const { id } = first.json.data;
    const again = await world.cli(`${register} event,project --json`);
    assert.deepEqual(
      [again.json.data.id, again.json.data.availability, again.json.data.enabled],
      [id, ["event", "project"], true],
    );
    assert.deepEqual((await world.cli("workflow list --scope space --json")).json.data, []);
    assert.match((await world.cli("workflow list --scope event")).stdout, new RegExp(`${id}.*Rename`));

    const run = await world.cli(
      `workflow run ${id} --event ${ids.event} --input name=Final --press go --json`,
    );
    assert.deepEqual([run.code, run.json.data.outcome], [0, "completed"], run.stdout);
    assert.match(JSON.stringify(run.json.data.views), /Renamed by op@example\.com as admin/);
    // Both requests have the same token, so that the backend asks who it is once.
    assert.deepEqual(asked.toSorted(), [
      `/api/v2/events/${ids.event}`,
      `/api/v2/events/${ids.event}`,
      "/api/v2/me",
    ]);
    const headers = { authorization: `Bearer ${world.token}` };
    const renamed = await world.call(`/api/v2/events/${ids.event}`, { headers });
    assert.equal(renamed.json.data.attributes.name, "Final");

    assert.equal((await world.cli(`workflow remove ${id} --yes`)).code, 0);
    assert.equal((await world.cli(`workflow run ${id} --event ${ids.event} --json`)).code, 1);
  });

  it("are changed by name only where the name is theirs alone", async () => {
    const attributes = { name: "Twin", endpoint_url: endpoint, availability: ["event"] };
    for (const _ of [1, 2]) await world.create("/workflows", "workflows", attributes);
    const twin = await world.cli(`workflow register Twin --endpoint ${endpoint} --availability event`);
    assert.equal(twin.code, 7);
    assert.match(twin.stderr, /several workflows named Twin/);
    const bad = await world.cli("workflow register Bad --endpoint ftp://x --availability event");
    assert.equal(bad.code, 8, bad.stderr);
    assert.equal(
      (await world.cli(`workflow register Bad --endpoint ${endpoint} --availability show`)).code,
      2,
    );
  });
});
