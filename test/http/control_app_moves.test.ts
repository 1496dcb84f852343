/** Moves of projects to other apps: nothing in use is lost, and dead processes leave nothing half. */

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { dieAtCommit, moments } from "../support/dying_store.ts";
import { type Answer, ids } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { AppServer, catalogueUrl, openAuthor, pointersOf, poll, question, spec } from "./_apps.ts";
import { resource, to } from "./_control_examples.ts";

describeOnStores("moves of projects to other apps", open => {
  const server = new AppServer();
  const outbound = createOutbound({ networks: ["127.0.0.1"] });
  before(() => server.start());
  after(() => server.stop());

  it("moves a project to another app unless its elements would lose their types", async t => {
    const { call, addApp, addProject } = await openAuthor(t, open, outbound);
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
    const unknown = await move(first);
    assert.equal(unknown.status, 404, unknown.text);
    assert.deepEqual(pointersOf(unknown), ["/data/id"]);

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

  it("keeps the content types of event templates, and lets none be published that are lost", async t => {
    const { call, addApp, addProject, create, patch } = await openAuthor(t, open, outbound);
    const first = (await addApp(server.publish("first"))).json.data.id;
    const second = (await addApp(server.publish("second", { ...spec, version: "2.0.0" }, [poll]))).json.data
      .id;
    const projectId = (await addProject(first)).json.data.id;
    const project = to("projects", projectId);
    const move = (query: string): Promise<Answer> =>
      call(`/projects/${projectId}/relationships/app${query}`, { method: "PATCH", body: to("apps", second) });
    const event = to("events", await create("events", { name: "Match", action: "start" }, { project }));
    const cam = await create("elements", { content_type: "fan_cam" }, { event });
    const template = await create("event_templates", { name: "Match" }, { project, event });
    assert.equal((await call(`/elements/${cam}`, { method: "DELETE" })).status, 204);
    assert.equal((await move("")).status, 409);
    assert.equal((await call(`/event_templates/${template}`, { method: "DELETE" })).status, 204);
    assert.equal((await move("?dry_run=true")).status, 200);
    const other = await create("elements", { content_type: "fan_cam" }, { event });
    assert.equal((await move("?force=true")).status, 204);
    const lost = await patch("elements", other, { action: "publish" });
    assert.equal(lost.status, 422, lost.text);
    assert.deepEqual(pointersOf(lost), ["/data/attributes/content_type"]);
    assert.equal((await patch("elements", other, { name: "Camera" })).status, 204);
    await create("elements", { content_type: "poll", question, action: "publish" }, { event });
  });

  it("counts for elements that another process is about to write", async t => {
    let shared: Store | undefined;
    const openShared = async (clock: () => number): Promise<Store> => {
      shared ??= await open(clock);
      return shared;
    };
    const one = await openAuthor(t, openShared, outbound);
    const two = await openAuthor(t, openShared, outbound);
    const first = (await one.addApp(server.publish("first"))).json.data.id;
    const second = (await one.addApp(server.publish("second", { ...spec, version: "2.0.0" }, [poll]))).json
      .data.id;
    const projectId = (await one.addProject(first)).json.data.id;
    const project = to("projects", projectId);
    const event = to("events", await two.create("events", { name: "Match" }, { project }));
    const write = (content_type: string): Promise<Answer> =>
      two.call("/elements", { body: resource("elements", { content_type }, { relationships: { event } }) });
    assert.equal((await write("poll")).status, 201);
    const { store } = two.world;
    const { commit } = store;
    store.commit = async (partition, batch) => {
      store.commit = commit;
      const moved = await one.call(`/projects/${projectId}/relationships/app`, {
        method: "PATCH",
        body: to("apps", second),
      });
      assert.equal(moved.status, 204, moved.text);
      return await store.commit(partition, batch);
    };
    const late = await write("fan_cam");
    assert.equal(late.status, 422, late.text);
    assert.match(late.json.errors[0].detail, /: poll$/);
    assert.equal((await write("poll")).status, 201);
  });

  it("moves a project as a whole, wherever the process dies", async t => {
    const { world, call, addApp, addProject } = await openAuthor(t, open, outbound);
    const apps = [
      (await addApp(catalogueUrl)).json.data.id,
      (await addApp(server.publish("half"))).json.data.id,
    ];
    const projectId = (await addProject(apps[0])).json.data.id;
    const appNow = async (): Promise<string> =>
      (await call(`/projects/${projectId}`)).json.data.relationships.app.data.id;
    const move = (appId: string): Promise<Answer> =>
      call(`/projects/${projectId}/relationships/app`, { method: "PATCH", body: to("apps", appId) });
    let deaths = 0;
    for (let at = 0, isOver = false; !isOver; at++) {
      for (const when of moments) {
        const former = await appNow();
        const next = apps.find(id => id !== former);
        const death = dieAtCommit(world.store, at, when);
        await move(next);
        death.end();
        isOver = death.commits <= at;
        deaths += isOver ? 0 : 1;
        world.clock.advance(71_000);
        await world.platform.work();
        world.clock.advance(71_000);
        await world.platform.work();
        const used = await appNow();
        assert.ok(isOver ? used === next : true);
        for (const id of apps) {
          const { attributes } = (await call(`/apps/${id}`)).json.data;
          assert.equal(attributes.project_count, id === used ? 1 : 0, `commit ${at}, ${when}`);
        }
        const { enabled_types: types } = (await call(`/projects/${projectId}`)).json.data.attributes;
        assert.equal(types.includes("fan_cam"), used === apps[1]);
        const listed = await call(`/projects/${projectId}/content_types`);
        assert.deepEqual(
          listed.json.data.map(({ id }: { id: string }) => id),
          types,
        );
      }
    }
    assert.ok(deaths > 3, `${deaths} deaths`);
    const used = await appNow();
    for (const id of apps)
      assert.equal((await call(`/apps/${id}`, { method: "DELETE" })).status, id === used ? 409 : 204);
  });

  it("counts the projects of an app, wherever the process dies that creates one", async t => {
    const { world, call, addApp, addProject } = await openAuthor(t, open, outbound);
    const appId = (await addApp(catalogueUrl)).json.data.id;
    let isOver = false;
    for (let at = 0; !isOver; at++) {
      for (const when of moments) {
        const death = dieAtCommit(world.store, at, when);
        await addProject(appId);
        death.end();
        isOver = death.commits <= at;
        for (let round = 0; round < 2; round++) {
          world.clock.advance(71_000);
          await world.platform.work();
        }
        const { data } = (await call(`/spaces/${ids.space}/projects?page[count]=100`)).json;
        const users = data.filter(
          ({ relationships }: Answer["json"]) => relationships.app.data?.id === appId,
        );
        const { attributes } = (await call(`/apps/${appId}`)).json.data;
        assert.equal(attributes.project_count, users.length, `commit ${at}, ${when}`);
      }
    }
    assert.ok((await call(`/apps/${appId}`)).json.data.attributes.project_count > 1);
  });
});
