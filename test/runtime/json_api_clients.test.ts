/** Two JSON:API clients of others, each as its guide says, against the control API. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { toNodeListener } from "../../runtime/node.ts";
import { operatorHeaders } from "../http/_control_examples.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";

const modules = fileURLToPath(new URL("node_modules", import.meta.url));
const kitsu = join(modules, "kitsu/dist/index.mjs");
const devour = join(modules, "devour-client/lib/index.js");
const isRequired = process.env.GRANDSTAND_REQUIRE_RUNTIMES === "1";
const skip =
  !(existsSync(kitsu) && existsSync(devour)) &&
  !isRequired &&
  "kitsu and devour-client are not installed: npm ci --prefix test/runtime";

// biome-ignore lint/suspicious/noExplicitAny: the clients make their answers of what the server sends
type Loose = any;

describe("JSON:API clients", { skip }, () => {
  let world: TestPlatform;
  let base = "";
  let headers: Readonly<Record<string, string>> = {};
  const server = createServer((incoming, outgoing) =>
    toNodeListener(world.platform.fetch)(incoming, outgoing),
  );

  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }));
    headers = await operatorHeaders(world);
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await world.dispose();
  });

  it("read, create, change, page, include and remove with kitsu", async () => {
    const { default: Kitsu } = await import(pathToFileURL(kitsu).href);
    const api = new Kitsu({
      baseURL: base,
      headers,
      camelCaseTypes: false,
      resourceCase: "none",
      pluralize: false,
    });
    for (const name of ["One", "Two", "Three"]) {
      const project = { data: { id: ids.project, type: "projects" } };
      const { data } = await api.create("events", { name, project });
      assert.equal(data.name, name);
      assert.equal(data.state, "future");
    }
    const first = await api.get(`projects/${ids.project}/events`, {
      params: { page: { count: 3 }, include: "project.space", sort: "created_at" },
    });
    assert.equal(first.data.length, 3);
    assert.equal(first.data[0].project.data.space.data.name, "Club space");
    const cursor = new URL(first.links.next).searchParams.get("page[cursor]");
    const second = await api.get(`projects/${ids.project}/events`, {
      params: { page: { count: 3, cursor }, sort: "created_at" },
    });
    assert.equal(second.links.next, null);
    const found: Loose[] = [...first.data, ...second.data];
    assert.deepEqual(found.map(({ name }) => name).toSorted(), ["Match", "One", "Three", "Two"]);
    const { id } = found.find(({ name }) => name === "One");
    const changed = await api.update("events", { id, name: "Uno" });
    assert.equal(changed.data.name, "Uno");
    await api.remove("events", id);
    await assert.rejects(api.get(`events/${id}`), ({ errors }: Loose) => errors[0].code === "not_found");
  });

  it("read, create, change, page, include and remove with devour", async () => {
    const { default: JsonApi } = await import(pathToFileURL(devour).href);
    const api = new JsonApi({ apiUrl: base, logger: false });
    Object.assign(api.headers, headers);
    api.define("project", { name: "", space: { jsonApi: "hasOne", type: "spaces" } });
    api.define("space", { name: "" });
    api.define("event", { name: "", state: "", project: { jsonApi: "hasOne", type: "projects" } });
    // Events of one instant come in the order of their ids.
    world.clock.advance(1_000);
    for (const name of ["Four", "Five"]) {
      const { data } = await api.create("event", { name, project: { id: ids.project, type: "projects" } });
      assert.equal(data.name, name);
    }
    const events = api.one("project", ids.project).all("event");
    const first = await events.get({ page: { count: 2 }, include: "project.space", sort: "-created_at" });
    assert.equal(first.data.length, 2);
    assert.equal(first.data[0].project.space.name, "Club space");
    const cursor = new URL(first.links.next).searchParams.get("page[cursor]");
    const next = await api.one("project", ids.project).all("event");
    const second = await next.get({ page: { count: 2, cursor }, sort: "-created_at" });
    const found: Loose[] = [...first.data, ...second.data];
    const { id } = found.find(({ name }) => name === "Four");
    const changed = await api.update("event", { id, name: "Quattro" });
    assert.equal(changed.data.name, "Quattro");
    await api.destroy("event", id);
    await assert.rejects(api.find("event", id));
  });
});
