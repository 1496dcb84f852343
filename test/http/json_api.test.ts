/** JSON:API 1.1 at the surface. Every answer of every test is compared with its schema too (test/support/json_api.ts). */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { type Attribute, type Relationship, resources } from "../../lib/authoring/table/mod.ts";
import { type CallOptions, ids, openPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { controlExamples, operatorHeaders } from "./_control_examples.ts";

const jsonApi = "application/vnd.api+json";

describeOnStores("JSON:API", open => {
  async function opened(t: TestContext) {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const author = await operatorHeaders(world);
    const call = (path: string, { headers = {}, ...options }: CallOptions = {}) =>
      world.call(`/api/v2${path}`, { ...options, headers: { ...author, ...headers } });
    return { world, call };
  }

  const project = `/projects/${ids.project}`;
  const change = (attributes: unknown, more: object = {}) => ({
    method: "PATCH",
    body: { data: { type: "projects", attributes, ...more } },
  });

  it("negotiates media types", async t => {
    const { call } = await opened(t);
    const accepted: [accept: string | undefined, status: number, type?: string][] = [
      [undefined, 200, jsonApi],
      ["*/*", 200, jsonApi],
      ["application/*", 200, jsonApi],
      [jsonApi, 200, jsonApi],
      [`${jsonApi};q=0.5`, 200, jsonApi],
      [`${jsonApi};profile="https://example.com/a"`, 200, jsonApi],
      ["application/json", 200, "application/json"],
      [`application/json, ${jsonApi}`, 200, jsonApi],
      [`${jsonApi};charset=utf-8`, 406],
      [`${jsonApi};ext="https://example.com/unknown"`, 406],
      [`${jsonApi};charset=utf-8, ${jsonApi}`, 200, jsonApi],
    ];
    for (const [accept, status, type] of accepted) {
      const answer = await call(project, { headers: accept === undefined ? {} : { accept } });
      assert.equal(answer.status, status, `${accept}: ${answer.text}`);
      if (type !== undefined) assert.equal(answer.headers.get("content-type")?.split(";")[0], type, accept);
      if (status === 200) assert.match(answer.headers.get("vary") ?? "", /accept/i);
    }
    const sent: [type: string, status: number][] = [
      [jsonApi, 204],
      ["application/json", 204],
      ["application/json; charset=utf-8", 204],
      [`${jsonApi}; profile="https://example.com/a"`, 204],
      [`${jsonApi}; ext="https://jsonapi.org/ext/atomic"`, 415],
      [`${jsonApi}; version=1`, 415],
      ["text/plain", 415],
    ];
    for (const [type, status] of sent) {
      const answer = await call(project, { ...change({ name: "App" }), headers: { "content-type": type } });
      assert.equal(answer.status, status, `${type}: ${answer.text}`);
    }
    const ignored = { headers: { "content-type": "text/plain" } };
    assert.equal((await call(project, ignored)).status, 200);
    const inProject = { project: { data: { type: "projects", id: ids.project } } };
    const planned = { data: { type: "events", attributes: { name: "Show" }, relationships: inProject } };
    const { id } = (await call("/events", { body: planned })).json.data;
    const gone = await call(`/events/${id}`, { method: "DELETE", ...ignored });
    assert.equal(gone.status, 204, gone.text);
  });

  it("answers a change by what the client accepts", async t => {
    const { call } = await opened(t);
    for (const [accept, status] of [
      ["*/*", 204],
      ["application/json", 204],
      [jsonApi, 200],
    ] as const) {
      const answer = await call(project, { ...change({ name: `App ${status}` }), headers: { accept } });
      assert.equal(answer.status, status);
      assert.equal(answer.headers.get("etag"), (await call(project)).headers.get("etag"));
      if (status === 200) assert.equal(answer.json.data.attributes.name, "App 200");
    }
  });

  it("tells faults apart, with the place of each", async t => {
    const { call } = await opened(t);
    const other = { data: { type: "spaces", id: ids.otherSpace } };
    const create = (attributes: unknown, relationships: unknown, more: object = {}) => ({
      body: { data: { type: "events", attributes, relationships, ...more } },
    });
    const inProject = { project: { data: { type: "projects", id: ids.project } } };
    const nowhere = { project: { data: { type: "projects", id: "0c000000-0000-4000-8000-0000000000ff" } } };
    const name = { name: "Show" };
    const cases: [path: string, options: CallOptions, status: number, pointers: readonly string[]][] = [
      [project, { method: "PATCH", body: "{" }, 400, []],
      [project, { method: "PATCH", body: {} }, 400, ["/data"]],
      [project, { method: "PATCH", body: { data: { type: "projects" }, extra: 1 } }, 400, ["/extra"]],
      [project, change([]), 400, ["/data/attributes"]],
      [project, change({ name: 1, locales: ["!"], colour: 1 }), 422, ["colour", "locales/0", "name"]],
      [project, change({ settings: [{ key: "a" }] }), 422, ["settings/0/values"]],
      [project, change({}, { relationships: { space: other } }), 422, ["/data/relationships/space"]],
      [project, change({}, { relationships: { moon: other } }), 422, ["/data/relationships/moon"]],
      [project, change({}, { id: ids.otherProject }), 409, ["/data/id"]],
      [project, { method: "PATCH", body: { data: { type: "events" } } }, 409, ["/data/type"]],
      [project, { ...change({ name: "x" }), headers: { "if-match": '"v99"' } }, 412, []],
      ["/events", create(name, {}), 422, ["/data/relationships/project"]],
      ["/events", create({}, inProject), 422, ["name"]],
      ["/events", create(name, nowhere), 404, ["/data/relationships/project"]],
      ["/events", create(name, inProject, { id: ids.event }), 403, ["/data/id"]],
      ["/events", create({ ...name, action: "dance" }, inProject), 422, ["action"]],
      ["/projects/x", {}, 404, []],
      [`/projects/${ids.event}`, {}, 404, []],
    ];
    const before = (await call(project)).headers.get("etag");
    for (const [path, options, status, pointers] of cases) {
      const answer = await call(path, options);
      const about = `${path} ${JSON.stringify(options)}: ${answer.text}`;
      if (path === "/projects/x") assert.ok([400, 404].includes(answer.status), about);
      else assert.equal(answer.status, status, about);
      const told = answer.json.errors.flatMap(
        ({ source }: { source?: { pointer?: string } }) => source?.pointer ?? [],
      );
      const expected = pointers.map(at => (at.startsWith("/") ? at : `/data/attributes/${at}`));
      if (pointers.length > 0) assert.deepEqual(told.toSorted(), expected, about);
    }
    assert.equal((await call(project)).headers.get("etag"), before, "nothing was written");
  });

  it("refuses parameters that it does not know, by name", async t => {
    const { call } = await opened(t);
    const list = `${project}/events`;
    const many = Array.from({ length: 65 }, (_, index) => `a${index}=1`).join("&");
    const foreign = (await call(`/organisations/${ids.organisation}/spaces?page[count]=1`)).json.links.next;
    const cases: [path: string, parameter?: string][] = [
      [`${project}?colour=red`, "colour"],
      [`${project}?include=moon`, "include"],
      [`${project}?include=space.moon`, "include"],
      [`${project}?include=space&include=space`, "include"],
      [`${project}?fields[projects]=moon`, "fields[projects]"],
      [`${project}?fields[moons]=name`, "fields[moons]"],
      [`${list}?sort=moon`, "sort"],
      [`${list}?page[size]=1`, "page[size]"],
      [`${list}?page[count]=0`, "page[count]"],
      [`${list}?page[count]=101`, "page[count]"],
      [`${list}?page[count]=1.5`, "page[count]"],
      [`${list}?page[cursor]=x`, "page[cursor]"],
      [`${list}?filter[moon]=1`, "filter[moon]"],
      [`${list}?filter[state]=moon`, "filter[state]"],
      [`${list}?${many}`],
      ...(foreign === null
        ? []
        : [[`${list}${new URL(foreign).search}`, "page[cursor]"] as [string, string]]),
    ];
    for (const [path, parameter] of cases) {
      for (const sent of [path, path.replaceAll("[", "%5B").replaceAll("]", "%5D")]) {
        const answer = await call(sent);
        assert.equal(answer.status, 400, `${sent}: ${answer.text}`);
        if (parameter !== undefined) assert.equal(answer.json.errors[0].source?.parameter, parameter, sent);
      }
    }
  });

  it("shows the fields that are asked for, sorts and pages", async t => {
    const { call } = await opened(t);
    const inOrganisation = {
      organisation: { data: { type: "organisations", id: ids.organisation } },
    };
    for (const name of ["C", "A", "D", "B"]) {
      const body = { data: { type: "spaces", attributes: { name }, relationships: inOrganisation } };
      assert.equal((await call("/spaces", { body })).status, 201);
    }
    const names: string[] = [];
    const path = `/organisations/${ids.organisation}/spaces?sort=-name&page[count]=2&fields[spaces]=name`;
    for (let next: string | null = path; next !== null; ) {
      const { json, status, text } = await call(next);
      assert.equal(status, 200, text);
      for (const { attributes, relationships } of json.data) {
        assert.deepEqual(Object.keys(attributes), ["name"]);
        assert.deepEqual(Object.keys(relationships ?? {}), []);
        names.push(attributes.name);
      }
      next = json.links.next === null ? null : String(json.links.next).replace(/^.*\/api\/v2/, "");
    }
    assert.deepEqual(names, ["D", "Club space", "C", "B", "A"]);
    const deep = await call(`/events/${ids.event}?include=project.space.organisation`);
    assert.deepEqual(
      deep.json.included?.map(({ type }: { type: string }) => type),
      ["projects", "spaces", "organisations"],
      deep.text,
    );
  });

  it("includes what sparse fields leave out of the linkage", async t => {
    const { call } = await opened(t);
    const query =
      "include=project.space.my_role&fields[events]=name&fields[projects]=name&fields[spaces]=name";
    const typesOf = ({ json }: { json: { included?: readonly { type: string }[] } }) =>
      json.included?.map(({ type }) => type);
    const one = await call(`/events/${ids.event}?${query}`);
    assert.deepEqual(typesOf(one), ["projects", "spaces", "scope_roles"], one.text);
    assert.deepEqual(one.json.data.relationships, {});
    assert.deepEqual(one.json.included?.[0]?.relationships, {});
    const list = await call(`/projects/${ids.project}/events?include=project&fields[events]=name`);
    assert.deepEqual(typesOf(list), ["projects"]);
    const pages = await call(`/events/${ids.event}?include=project&fields[projects]=name`);
    assert.equal(pages.json.data.relationships.project.data.id, ids.project);
  });

  it("lets clients save what they read, of every type, and refuses what they changed of it", async t => {
    const { world, call } = await opened(t);
    const examples = new Map(await controlExamples(world));
    const paramsOf = (operation: string) =>
      Object.values(examples.get(operation)?.[0]?.params ?? {})[0] ?? "";
    const event = paramsOf("changeEvent");
    const fields = [{ key: "note", values: { all: "a" } }];
    const attributes = { settings: fields, action: "start", annotations: { a: "b" } };
    const written = { type: "events", id: event, attributes };
    assert.equal((await call(`/events/${event}`, { method: "PATCH", body: { data: written } })).status, 204);
    const saved: Readonly<Record<string, string>> = {
      organisations: ids.organisation,
      spaces: ids.space,
      projects: paramsOf("changeProjectApp"),
    };
    const changeable = Object.values(resources).filter(({ operations }) =>
      (operations as readonly string[]).includes("change"),
    );
    for (const { type, noun, attributes: known, relationships, operations } of changeable) {
      // The operation has the name of the type: `changeEventTemplate` of `event_templates`.
      const name = type.replace(/s$/, "").replace(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase());
      const id = saved[type] ?? paramsOf(`change${name}`);
      assert.notEqual(id, "", noun);
      const path = `/${type}/${id}`;
      const listed = await call(`/projects/${ids.project}/roles?page[count]=100`);
      const read = async () =>
        (operations as readonly string[]).includes("read")
          ? (await call(path)).json.data
          : listed.json.data.find((one: { id: string }) => one.id === id);
      const data = await read();
      const save = (changed: object) =>
        call(path, { method: "PATCH", body: { data: { ...data, ...changed } } });
      const unchanged = await save({});
      assert.equal(unchanged.status, 204, `${type}: ${unchanged.text}`);
      assert.equal(unchanged.headers.get("etag"), data.meta.etag, type);
      assert.deepEqual(await read(), data);
      for (const [name, { write = "always" }] of Object.entries<Attribute>(known)) {
        if (write !== "never" || !(name in data.attributes)) continue;
        const refused = await save({ attributes: { ...data.attributes, [name]: "another" } });
        assert.deepEqual(
          [refused.status, refused.json.errors?.[0]?.source.pointer],
          [422, `/data/attributes/${name}`],
          `${type} ${refused.text}`,
        );
      }
      for (const [name, { write = "never" }] of Object.entries<Relationship>(relationships)) {
        if (write === "always") continue;
        const other = { data: { type: "events", id: "0d000000-0000-4000-8000-0000000000ff" } };
        const refused = await save({ relationships: { ...data.relationships, [name]: other } });
        assert.equal(refused.status, 422, `${type} ${name} ${refused.text}`);
      }
    }
    const element = paramsOf("changeElement");
    const data = (await call(`/elements/${element}`)).json.data;
    const moved = { ...data, attributes: { ...data.attributes, start_offset: 9, label: "New" } };
    const changed = await call(`/elements/${element}`, { method: "PATCH", body: { data: moved } });
    assert.equal(changed.status, 204, changed.text);
    const after = (await call(`/elements/${element}`)).json.data.attributes;
    assert.deepEqual([after.start_offset, after.offset, after.label], [9, 9, "New"]);
    const trail = await call(`/projects/${ids.project}/audit?page[count]=1`);
    assert.deepEqual(trail.json.data[0].attributes.changes[0].attributes, ["label", "start_offset"]);
  });

  it("lets a creator save what needs an admin only as it is", async t => {
    const { world, call } = await opened(t);
    const body = { data: { type: "scope_roles", attributes: { email: "c@example.com", role: "creator" } } };
    assert.equal((await call(`/projects/${ids.project}/roles`, { body })).status, 201);
    const user = await world.platform.authors.findOrCreate("c@example.com");
    const { token } = await world.platform.authors.createToken({ userId: user.id, name: "Test" });
    const headers = { authorization: `Bearer ${token}` };
    const { data } = (await call(`/events/${ids.event}`, { headers })).json;
    const save = (services: object) =>
      call(`/events/${ids.event}`, {
        ...{ method: "PATCH", headers },
        body: { data: { ...data, attributes: { ...data.attributes, name: "Mine", services } } },
      });
    assert.equal((await save({ location: { deny: ["FR"] } })).status, 403);
    const saved = await save(data.attributes.services);
    assert.equal(saved.status, 204, saved.text);
    assert.equal((await call(`/events/${ids.event}`)).json.data.attributes.name, "Mine");
  });

  it("reads and changes annotations alone", async t => {
    const { call } = await opened(t);
    const inEvent = { event: { data: { type: "events", id: ids.event } } };
    const made = await call("/elements", {
      body: { data: { type: "elements", attributes: { content_type: "poll" }, relationships: inEvent } },
    });
    assert.equal(made.status, 201, made.text);
    const all = [
      ["organisations", ids.organisation],
      ["spaces", ids.space],
      ["projects", ids.project],
      ["events", ids.event],
      ["elements", made.json.data.id],
    ] as const;
    for (const [type, id] of all) {
      const path = `/${type}/${id}/annotations`;
      const patch = (attributes: unknown, headers = {}) =>
        call(path, { method: "PATCH", body: { data: { type, attributes } }, headers });
      const annotations = { a: "1", "manifest/key": "2" };
      assert.equal((await patch({ annotations })).status, 204);
      assert.equal((await patch({ annotations: { a: null, b: "3" } })).status, 204);
      const read = await call(path);
      assert.deepEqual(
        read.json.data.attributes,
        { annotations: { "manifest/key": "2", b: "3" } },
        read.text,
      );
      assert.equal(read.headers.get("etag"), (await call(`/${type}/${id}`)).headers.get("etag"));
      const stray = await patch({ annotations: {}, name: "New" });
      assert.equal(stray.status, 422, stray.text);
      assert.equal(stray.json.errors[0].source.pointer, "/data/attributes/name");
      assert.equal((await patch({ annotations: { "!": "x" } })).status, 422);
      assert.equal((await patch({ annotations: { a: "x" } }, { "if-match": '"v0"' })).status, 412);
      const long = { annotations: { a: "x".repeat(8_192), c: "x".repeat(8_192) } };
      assert.equal((await patch(long)).status, 422);
    }
  });
});
