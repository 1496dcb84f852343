/** Apps, content types, and moving projects to other apps. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { after, before, describe, it, type TestContext } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import type { Outbound } from "../../lib/outbound/outbound.ts";
import { type Answer, type CallOptions, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

const catalogueUrl = "http://127.0.0.1:8787/apps/catalogue/1.0.0/spec.json";

const spec = {
  name: "Match",
  id: "match",
  version: "1.0.0",
  base_apps_url: "https://apps.example",
  extra: 1,
};
const poll = {
  name: "Poll",
  content_type: "poll",
  question: [{ key: "question", field: "text", mandatory: true }],
  option: [{ key: "text", field: "text" }],
  options_number: { min: 2, max: 4 },
};
const elements = [poll, { name: "Fan cam", content_type: "fan_cam", custom_fields: [{ properties: [] }] }];

/** Serves the files of apps by path. */
class AppServer {
  readonly files = new Map<string, string>();
  agents: (string | undefined)[] = [];
  type = "application/json";
  #server: Server | null = null;
  base = "";

  async start(): Promise<void> {
    this.#server = createServer((request, response) => {
      this.agents.push(request.headers["user-agent"]);
      const file = this.files.get(request.url ?? "");
      if (file === undefined) response.writeHead(404).end();
      else response.writeHead(200, { "content-type": this.type }).end(file);
    });
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    assert.ok(typeof address === "object" && address !== null);
    this.base = `http://127.0.0.1:${address.port}`;
  }

  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  /** Publishes an app and returns its address. */
  publish(name: string, root: unknown = spec, items: unknown = elements): string {
    const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
    this.files.set(`/${name}/spec.json`, textOf(root));
    this.files.set(`/${name}/elements.json`, textOf(items));
    return `${this.base}/${name}/spec.json`;
  }
}

interface Opened {
  readonly world: TestPlatform;
  readonly call: (path: string, options?: CallOptions) => Promise<Answer>;
  addApp(specUrl: string, spaceId?: string): Promise<Answer>;
  addProject(appId: string): Promise<Answer>;
}

async function opened(
  t: TestContext,
  open: Parameters<typeof openPlatform>[0],
  outbound?: Outbound,
): Promise<Opened> {
  const world = await openPlatform(open, outbound === undefined ? {} : { outbound });
  t.after(() => world.dispose());
  const headers = await operatorHeaders(world);
  const call: Opened["call"] = (path, options = {}) =>
    world.call(`/api/v2${path}`, { ...options, headers: { ...headers, ...options.headers } });
  return {
    world,
    call,
    addApp: (spec_url, spaceId = ids.space) =>
      call("/apps", {
        body: resource("apps", { spec_url }, { relationships: { space: to("spaces", spaceId) } }),
      }),
    addProject: appId =>
      call("/projects", {
        body: resource(
          "projects",
          { name: "App" },
          { relationships: { space: to("spaces", ids.space), app: to("apps", appId) } },
        ),
      }),
  };
}

describeOnStores("apps", open => {
  const server = new AppServer();
  const outbound = createOutbound({ networks: ["127.0.0.1"] });
  before(() => server.start());
  after(() => server.stop());

  it("keeps what an address specifies, once for each version", async t => {
    const { world, call, addApp } = await opened(t, open, outbound);
    server.agents = [];
    const url = server.publish("match");
    const added = await addApp(url);
    assert.equal(added.status, 201, added.text);
    const { id, attributes } = added.json.data;
    assert.deepEqual(
      {
        ...attributes,
        spec_digest: "",
        created_at: 0,
        created_at_iso: "",
        updated_at: 0,
        updated_at_iso: "",
      },
      {
        ...{ spec_url: url, name: "Match", spec_id: "match", version: "1.0.0", spec_digest: "" },
        ...{ fetched_at: Math.floor(world.clock.now() / 1_000), project_count: 0 },
        ...{ created_at: 0, created_at_iso: "", updated_at: 0, updated_at_iso: "" },
      },
    );
    assert.match(attributes.spec_digest, /^sha256:[0-9a-f]{64}$/);
    assert.equal(server.agents.length, 2);
    assert.match(String(server.agents[0]), /^Grandstand-Authoring\/1\.0 \(\+http/);

    const twice = await addApp(url);
    assert.equal(twice.status, 409, twice.text);
    assert.match(twice.text, new RegExp(id));
    server.publish("match", spec, [poll]);
    const changed = await addApp(url);
    assert.equal(changed.status, 409);
    assert.match(changed.json.errors[0].detail, /another version/);
    server.publish("match", { ...spec, version: "1.1.0" }, [poll]);
    assert.equal((await addApp(url)).status, 201);
    const listed = await call(`/spaces/${ids.space}/apps`);
    assert.deepEqual(
      listed.json.data.map((app: Answer["json"]) => app.attributes.version),
      ["1.1.0", "1.0.0"],
    );
  });

  it("tells every fault of both files", async t => {
    const { call, addApp } = await opened(t, open, outbound);
    const { name: _, ...nameless } = spec;
    const url = server.publish("faulty", { ...nameless, version: 1 }, [
      { name: "", content_type: "x" },
      { ...poll, question: [{ key: "", field: "text" }] },
    ]);
    const refused = await addApp(url);
    assert.equal(refused.status, 422, refused.text);
    const details: string[] = refused.json.errors.map((error: Answer["json"]) => {
      assert.equal(error.source.pointer, "/data/attributes/spec_url");
      return error.detail;
    });
    for (const place of [
      "spec.json at /name: Is required",
      "spec.json at /version: ",
      "elements.json at /0/name: ",
      "elements.json at /1/question/0/key: ",
    ]) {
      assert.ok(
        details.some(detail => detail.startsWith(place)),
        `${place}\n${details.join("\n")}`,
      );
    }
    assert.equal((await call(`/spaces/${ids.space}/apps`)).json.data.length, 0);
  });

  it("says which step of reading an address fails", async t => {
    const { call } = await opened(t, open, outbound);
    async function firstFault(specUrl: string): Promise<string> {
      const body = {
        data: { type: "spec_checks", attributes: { spec_url: specUrl, user_agent: "Studio/2" } },
      };
      const answer = await call("/apps/validate_spec_url", { body });
      assert.equal(answer.status, 200, answer.text);
      const { checks, passed } = answer.json.data.attributes;
      const failed = checks.find((row: Answer["json"]) => row.result === "fail");
      assert.equal(passed, failed === undefined);
      return failed === undefined ? "none" : `${failed.file} ${failed.check}`;
    }
    server.agents = [];
    assert.equal(await firstFault(server.publish("good")), "none");
    assert.deepEqual(server.agents, ["Studio/2", "Studio/2"]);
    assert.equal(await firstFault(catalogueUrl), "none");
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    const cases: readonly (readonly [string, string])[] = [
      ["ftp://apps.example/spec.json", "spec.json url"],
      ["https://apps.example/app.json", "spec.json url"],
      ["https://10.0.0.1/spec.json", "spec.json address"],
      ["https://[::ffff:169.254.169.254]/spec.json", "spec.json address"],
      ["http://127.0.0.1:1/spec.json", "spec.json connection"],
      [`${server.base}/none/spec.json`, "spec.json status"],
      [server.publish("html", "<html></html>"), "spec.json json"],
      [server.publish("large", JSON.stringify({ ...spec, text: "x".repeat(2_097_152) })), "spec.json bytes"],
      [server.publish("deep", spec, deep), "elements.json json"],
      [server.publish("proto", '{"__proto__":{}}'), "spec.json json"],
      [server.publish("odd", [], {}), "spec.json schema"],
      [server.publish("twice", spec, [poll, poll]), "elements.json schema"],
      [
        server.publish("huge", { ...spec, text: "x".repeat(600_000) }, [
          { ...poll, text: "x".repeat(600_000) },
        ]),
        "elements.json schema",
      ],
    ];
    for (const [url, fault] of cases) assert.equal(await firstFault(url), fault, url);
    server.type = "text/html";
    t.after(() => {
      server.type = "application/json";
    });
    assert.equal(await firstFault(server.publish("typed")), "spec.json type");
  });

  it("refuses every address but the catalogue's where nothing reads them", async t => {
    const { addApp } = await opened(t, open);
    const refused = await addApp("https://apps.example/spec.json");
    assert.equal(refused.status, 422);
    assert.match(refused.json.errors[0].detail, /catalogue/);
    assert.equal((await addApp(catalogueUrl)).status, 201);
  });

  it("gives a new project the content types of its app", async t => {
    const { call, addApp, addProject } = await opened(t, open, outbound);
    const appId = (await addApp(server.publish("typed_app"))).json.data.id;
    const project = await addProject(appId);
    assert.equal(project.status, 201, project.text);
    const { id, attributes } = project.json.data;
    assert.deepEqual(attributes.enabled_types, ["poll", "fan_cam"]);
    const hide = { data: { type: "projects", id, attributes: { hidden_elements: ["poll"] } } };
    assert.equal((await call(`/projects/${id}`, { method: "PATCH", body: hide })).status, 204);
    assert.deepEqual((await call(`/projects/${id}`)).json.data.attributes.enabled_types, ["fan_cam"]);
    const types = await call(`/projects/${id}/content_types`);
    assert.equal(types.status, 200, types.text);
    assert.deepEqual(
      types.json.data.map((type: Answer["json"]) => [type.id, type.attributes.enabled]),
      [
        ["poll", false],
        ["fan_cam", true],
      ],
    );
    const one = await call(`/projects/${id}/content_types/poll`);
    assert.deepEqual(one.json.data.attributes.definition.options_number, { min: 2, max: 4 });
    assert.equal((await call(`/projects/${id}/content_types/none`)).status, 404);
    assert.deepEqual((await call(`/projects/${ids.project}/content_types`)).json.data, []);
    const included = await call(`/projects/${id}?include=app`);
    assert.equal(included.json.included[0].attributes.project_count, 1);

    const used = await call(`/apps/${appId}`, { method: "DELETE" });
    assert.equal(used.status, 409, used.text);
    const foreign = await addApp(catalogueUrl, ids.otherSpace);
    assert.equal(foreign.status, 201, foreign.text);
    const refused = await addProject(foreign.json.data.id);
    assert.equal(refused.status, 422, refused.text);
    assert.equal(refused.json.errors[0].source.pointer, "/data/relationships/app");
    assert.equal((await addProject("2f1d0c5e-6a70-4b1e-9d52-0c8a4f6b7e31")).status, 404);
    assert.equal((await call(`/apps/${foreign.json.data.id}`, { method: "DELETE" })).status, 204);
    assert.equal((await call(`/apps/${foreign.json.data.id}`)).status, 404);
  });

  it("moves a project to another app unless its elements would lose their types", async t => {
    const { call, addApp, addProject } = await opened(t, open, outbound);
    const first = (await addApp(server.publish("first"))).json.data.id;
    const second = (await addApp(server.publish("second", { ...spec, version: "2.0.0" }, [poll]))).json.data
      .id;
    const projectId = (await addProject(first)).json.data.id;
    const move = (appId: string, query = "", headers = {}): Promise<Answer> =>
      call(`/projects/${projectId}/relationships/app${query}`, {
        method: "PATCH",
        body: to("apps", appId),
        headers,
      });
    const inProject = { relationships: { project: to("projects", projectId) } };
    const event = await call("/events", { body: resource("events", { name: "Match" }, inProject) });
    const inEvent = { relationships: { event: to("events", event.json.data.id) } };
    const cam = await call("/elements", { body: resource("elements", { content_type: "fan_cam" }, inEvent) });
    assert.equal(cam.status, 201, cam.text);

    const lost = await move(second);
    assert.equal(lost.status, 409, lost.text);
    assert.match(lost.text, /fan_cam/);
    assert.equal((await call(`/elements/${cam.json.data.id}`, { method: "DELETE" })).status, 204);
    const dry = await move(second, "?dry_run=true");
    assert.equal(dry.status, 200, dry.text);
    assert.deepEqual(dry.json.meta, { dry_run: true, added_types: [], removed_types: ["fan_cam"] });
    assert.equal((await call(`/apps/${second}`)).json.data.attributes.project_count, 0);
    assert.equal((await move(second, "", { "if-match": '"v9"' })).status, 412);
    assert.equal((await call(`/apps/${second}`)).json.data.attributes.project_count, 0);
    const moved = await move(second);
    assert.equal(moved.status, 204, moved.text);
    const project = await call(`/projects/${projectId}`);
    assert.equal(project.headers.get("etag"), moved.headers.get("etag"));
    assert.equal(project.json.data.relationships.app.data.id, second);
    assert.deepEqual(project.json.data.attributes.enabled_types, ["poll"]);
    assert.equal((await call(`/apps/${first}`, { method: "DELETE" })).status, 204);
    assert.equal((await move(first)).status, 422);

    const third = (await addApp(server.publish("third", { ...spec, version: "3.0.0" }))).json.data.id;
    const failed = await call("/projects", {
      body: resource(
        "projects",
        { name: "App", services: { leaderboards: "none" } },
        { relationships: { space: to("spaces", ids.space), app: to("apps", third) } },
      ),
    });
    assert.equal(failed.status, 422, failed.text);
    assert.equal((await call(`/apps/${third}`, { method: "DELETE" })).status, 204);
  });

  it("holds elements to the fields of their content type, and published ones to the mandatory ones", async t => {
    const { call, addApp, addProject } = await opened(t, open, outbound);
    const app = await addApp(server.publish("content"));
    const project = await addProject(app.json.data.id);
    const inProject = { relationships: { project: to("projects", project.json.data.id) } };
    const started = { name: "Match", action: "start" };
    const event = await call("/events", { body: resource("events", started, inProject) });
    assert.equal(event.status, 201, event.text);
    const inEvent = { relationships: { event: to("events", event.json.data.id) } };
    const create = (attributes: object) =>
      call("/elements", { body: resource("elements", attributes, inEvent) });
    const pointersOf = ({ json }: Answer): readonly string[] =>
      json.errors.map(({ source }: { source: { pointer: string } }) => source.pointer);
    const field = (key: string, value: unknown) => ({ key, values: { all: value } });

    const unknownType = await create({ content_type: "quizz" });
    assert.equal(unknownType.status, 422, unknownType.text);
    assert.deepEqual(pointersOf(unknownType), ["/data/attributes/content_type"]);
    const question = { fields: [field("question", 1), field("colour", "red")] };
    const unknownField = await create({ content_type: "poll", question });
    assert.deepEqual(pointersOf(unknownField), [
      "/data/attributes/question/fields/0/values/all",
      "/data/attributes/question/fields/1/key",
    ]);

    const draft = await create({ content_type: "poll" });
    assert.equal(draft.status, 201, draft.text);
    const { id } = draft.json.data;
    const change = (attributes: object) =>
      call(`/elements/${id}`, { method: "PATCH", body: resource("elements", attributes) });
    const early = await change({ action: "publish" });
    assert.equal(early.status, 422, early.text);
    assert.deepEqual(pointersOf(early), [
      "/data/attributes/question/fields",
      "/data/attributes/question/options",
    ]);
    const options = ["Home", "Away"].map(text => ({ fields: [field("text", text)] }));
    const filled = { fields: [field("question", "Who wins?")], options };
    const published = await change({ question: filled, action: "publish" });
    assert.equal(published.status, 204, published.text);
  });
});

describe("the catalogue", () => {
  it("is served as files that are a valid app", async t => {
    const { world, addApp } = await opened(t, async clock => createMemoryStore({ clock }));
    const file = await world.call("/apps/catalogue/1.0.0/spec.json");
    assert.equal(file.status, 200, file.text);
    assert.equal(file.headers.get("content-type"), "application/json");
    const items = await world.call("/apps/catalogue/1.0.0/elements.json");
    assert.equal(items.json.length, 13);
    const server = new AppServer();
    await server.start();
    t.after(() => server.stop());
    const reading = await opened(
      t,
      async clock => createMemoryStore({ clock }),
      createOutbound({ networks: ["127.0.0.1"] }),
    );
    const copied = await reading.addApp(server.publish("copy", file.json, items.json));
    assert.equal(copied.status, 201, copied.text);
    const own = await addApp(catalogueUrl);
    assert.equal(own.json.data.attributes.spec_digest, copied.json.data.attributes.spec_digest);
  });
});
