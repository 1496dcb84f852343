/** Apps, content types, and moving projects to other apps. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import { type Answer, ids } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { AppServer, catalogueUrl, field, openAuthor, pointersOf, poll, spec } from "./_apps.ts";
import { resource, to } from "./_control_examples.ts";

describeOnStores("apps", open => {
  const server = new AppServer();
  const outbound = createOutbound({ networks: ["127.0.0.1"] });
  before(() => server.start());
  after(() => server.stop());

  it("keeps what an address specifies, once for each version", async t => {
    const { world, call, addApp } = await openAuthor(t, open, outbound);
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
    const { call, addApp } = await openAuthor(t, open, outbound);
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
    const { call } = await openAuthor(t, open, outbound);
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
    const { addApp } = await openAuthor(t, open, null);
    const refused = await addApp("https://apps.example/spec.json");
    assert.equal(refused.status, 422);
    assert.match(refused.json.errors[0].detail, /catalogue/);
    // The platform has no public URL here, and is called by any name of its machine.
    assert.equal((await addApp(catalogueUrl.replace("127.0.0.1", "localhost"))).status, 201);
  });

  it("gives a new project the content types of its app", async t => {
    const { call, addApp, addProject } = await openAuthor(t, open, outbound);
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
    assert.equal(refused.status, 404, refused.text);
    assert.equal(refused.json.errors[0].source.pointer, "/data/relationships/app");
    assert.equal((await addProject("2f1d0c5e-6a70-4b1e-9d52-0c8a4f6b7e31")).status, 404);
    assert.equal((await call(`/apps/${foreign.json.data.id}`, { method: "DELETE" })).status, 204);
    assert.equal((await call(`/apps/${foreign.json.data.id}`)).status, 404);
  });
});

describe("the catalogue", () => {
  it("is served as files that are a valid app", async t => {
    const { world, addApp } = await openAuthor(t, async clock => createMemoryStore({ clock }));
    const file = await world.call("/apps/catalogue/1.0.0/spec.json");
    assert.equal(file.status, 200, file.text);
    assert.equal(file.headers.get("content-type"), "application/json");
    const items = await world.call("/apps/catalogue/1.0.0/elements.json");
    assert.equal(items.json.length, 13);
    const server = new AppServer();
    await server.start();
    t.after(() => server.stop());
    const reading = await openAuthor(
      t,
      async clock => createMemoryStore({ clock }),
      createOutbound({ networks: ["127.0.0.1"] }),
    );
    const copied = await reading.addApp(server.publish("copy", file.json, items.json));
    assert.equal(copied.status, 201, copied.text);
    const own = await addApp(catalogueUrl);
    assert.equal(own.json.data.attributes.spec_digest, copied.json.data.attributes.spec_digest);
  });

  it("takes the field names that deployed clients write, and shows them as they were written", async t => {
    const { call, addApp, addProject, create, patch } = await openAuthor(t, async clock =>
      createMemoryStore({ clock }),
    );
    const app = (await addApp(catalogueUrl)).json.data.id;
    const project = to("projects", (await addProject(app)).json.data.id);
    const event = to("events", await create("events", { name: "Show", action: "start" }, { project }));
    const url = "https://cdn.example/a.png";
    const options = ["Home", "Away"].map(text => ({
      fields: [field("text", text), field("image_url", url)],
    }));
    const asked = { fields: [field("text", "Who wins?")] };
    const image = [field("image_url", url)];
    const contents: Readonly<Record<string, object>> = {
      poll: { question: { ...asked, options } },
      rating: { question: asked },
      quiz: { question: { ...asked, options } },
      prediction: { question: { ...asked, options } },
      ask: { question: asked },
      cheer: { question: { ...asked, options } },
      message: { custom_fields: [field("body", "Hello"), ...image] },
      cta: { custom_fields: [field("label", "Shop"), field("url", url), ...image] },
    };
    for (const [content_type, content] of Object.entries(contents)) {
      const id = await create("elements", { content_type, ...content, action: "publish" }, { event });
      const { question, custom_fields } = (await call(`/elements/${id}`)).json.data.attributes;
      const { question: written = null, custom_fields: custom = [] } = content as Record<string, unknown>;
      assert.deepEqual([question, custom_fields], [written, custom], content_type);
    }
    const draft = await create("elements", { content_type: "message", custom_fields: image }, { event });
    assert.equal((await patch("elements", draft, { custom_fields: [field("image", url)] })).status, 204);
    const { custom_fields } = (await call(`/elements/${draft}`)).json.data.attributes;
    assert.deepEqual(custom_fields, [field("image", url)], "one field keeps two names");
    const both = await patch("elements", draft, { custom_fields: [field("image", url), ...image] });
    assert.deepEqual(pointersOf(both), ["/data/attributes/custom_fields/1/key"]);
    const wrong = await patch("elements", draft, { custom_fields: [field("image_url", "no address")] });
    assert.deepEqual(pointersOf(wrong), ["/data/attributes/custom_fields/0/values/all"]);
    const silent = await call("/elements", {
      body: resource("elements", { content_type: "ask", action: "publish" }, { relationships: { event } }),
    });
    assert.deepEqual(pointersOf(silent), ["/data/attributes/custom_fields"]);
  });
});
