/** Clones of events over every store: all of a copy is visible or nothing, and dead processes leave nothing. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { elementKey } from "../../lib/authoring/table/mod.ts";
import { directoryPartition } from "../../lib/fans/directory/records.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { dieAtCommit, moments } from "../support/dying_store.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { describeOnCluster, describeOnStores, type OpenStore } from "../support/stores.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

function clones(open: OpenStore): void {
  async function opened(t: TestContext, elements: number) {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const authorization = await operatorHeaders(world);
    const call = (
      path: string,
      options: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
    ) => world.call(`/api/v2${path}`, { ...options, headers: { ...authorization, ...options.headers } });
    const inProject = { relationships: { project: to("projects", ids.project) } };
    const created = await call("/events", { body: resource("events", { name: "Show" }, inProject) });
    const event: string = created.json.data.id;
    const made: string[] = [];
    for (let start = 0; start < elements; start += 500) {
      const operations = Array.from({ length: Math.min(500, elements - start) }, (_, n) => ({
        op: "add",
        data: {
          type: "elements",
          attributes: {
            content_type: "poll",
            label: String(start + n),
            annotations: { "manifest/key": "a", note: "b" },
          },
          relationships: { event: to("events", event) },
        },
      }));
      const answer = await call("/operations", { body: { "atomic:operations": operations } });
      assert.equal(answer.status, 200, answer.text);
      for (const { data } of answer.json["atomic:results"]) made.push(data.id);
    }
    const clone = (headers: Record<string, string> = {}) =>
      call(`/events/${event}/clone`, { body: resource("events", { name: "Copy" }), headers });
    const totalOf = async (id: string) =>
      (await call(`/events/${id}/elements?page[count]=1`)).json.meta.total;
    return { world, call, clone, event, made, totalOf, store: world.store };
  }

  it("copies elements as drafts that mention each other", async t => {
    const { call, clone, event, made } = await opened(t, 2);
    const [wrapper = "", child = ""] = made;
    const attributes = { custom_fields: [{ key: "next", values: { all: `see ${wrapper} of ${event}` } }] };
    const more = { id: child, relationships: { parent: to("elements", wrapper) } };
    await call(`/elements/${child}`, { method: "PATCH", body: resource("elements", attributes, more) });
    await call(`/events/${event}`, {
      method: "PATCH",
      body: resource("events", { action: "start" }, { id: event }),
    });
    await call(`/elements/${child}`, {
      method: "PATCH",
      body: resource("elements", { action: "publish" }, { id: child }),
    });
    const stale = await clone({ "if-match": '"v1.0"' });
    assert.equal(stale.status, 412);
    const cloned = await clone({ "if-match": stale.headers.get("etag") ?? "" });
    assert.equal(cloned.status, 201, cloned.text);
    const copy = cloned.json.data;
    assert.deepEqual(
      [copy.attributes.name, copy.attributes.state, copy.attributes.start_at],
      ["Copy", "future", null],
    );
    assert.equal(cloned.headers.get("location"), copy.links.self);
    const { data } = (await call(`/events/${copy.id}/elements?sort=position`)).json;
    const [first, second] = data;
    assert.equal(data.length, 2);
    assert.deepEqual(first.attributes.annotations, { note: "b" });
    assert.equal(second.attributes.state, "non_scheduled");
    assert.equal(second.relationships.parent.data.id, first.id);
    assert.equal(second.attributes.custom_fields[0].values.all, `see ${first.id} of ${copy.id}`);
    const dry = await call(`/events/${event}/clone?dry_run=true`, { body: resource("events", {}) });
    assert.equal(dry.json.meta.dry_run, true);
    assert.equal((await call(`/events/${dry.json.data.id}`)).status, 404);
  });

  it("makes templates of events and events of templates", async t => {
    const { world, call, event, made, totalOf } = await opened(t, 450);
    const project = to("projects", ids.project);
    const post = async (type: string, relationships: object) => {
      const answer = await call(`/${type}`, { body: resource(type, { name: "Match" }, { relationships }) });
      assert.equal(answer.status, 201, answer.text);
      return answer.json.data;
    };
    const template = await post("event_templates", { project, event: to("events", event) });
    assert.equal(template.attributes.elements.length, 450);
    assert.notEqual(template.attributes.elements[0].id, made[0]);
    assert.equal((await call(`/elements/${template.attributes.elements[0].id}`)).status, 404);
    await call(`/events/${event}`, { method: "DELETE" });
    const copy = await post("events", { project, template: to("event_templates", template.id) });
    assert.equal(await totalOf(copy.id), 450);
    const listed = await call(`/projects/${ids.project}/event_templates`);
    assert.equal(listed.json.data[0].attributes.element_count, 450);
    assert.equal(listed.json.data[0].attributes.elements, undefined);
    const path = `/event_templates/${template.id}`;
    assert.equal((await call(path, { method: "DELETE" })).status, 204);
    assert.equal((await call(path)).status, 404);
    world.clock.advance(11_000);
    await world.platform.work();
    assert.equal(await totalOf(copy.id), 450);
    const unknown = { project, template: to("event_templates", template.id) };
    const refused = await call("/events", {
      body: resource("events", { name: "x" }, { relationships: unknown }),
    });
    assert.equal(refused.status, 404);
    assert.equal(refused.json.errors[0].source.pointer, "/data/relationships/template");
  });

  it("lets settings mention the copies, however an event is copied", async t => {
    const { world, call, clone, event, made } = await opened(t, 2);
    const project = to("projects", ids.project);
    /** Settings that mention elements and event alone, in a text and by name. */
    const settingsFor = (id: string, [first = "", second = ""]: readonly string[], spelt = first) => [
      { key: "intro", values: { all: first } },
      { key: "rail", values: { all: { order: [second, `#${spelt} of ${id}`], points: { [second]: 3 } } } },
    ];
    const settings = settingsFor(event, made, made[0]?.toUpperCase());
    const begin = Math.floor(world.clock.now() / 1_000) + 10;
    const planned = { start_mode: "clock", start_at: begin, duration: 60, repeat: true, repeat_in: 60 };
    const body = resource("events", { settings, ...planned });
    const changed = await call(`/events/${event}`, { method: "PATCH", body });
    assert.equal(changed.status, 204, changed.text);
    const post = async (type: string, relationships: object): Promise<string> =>
      (await call(`/${type}`, { body: resource(type, { name: "Match" }, { relationships }) })).json.data.id;
    const known = async (): Promise<readonly string[]> =>
      (await call(`/projects/${ids.project}/events`)).json.data.map(({ id }: { id: string }) => id);

    const template = await post("event_templates", { project, event: to("events", event) });
    const made2 = await post("events", { project, template: to("event_templates", template) });
    const copies = [(await clone()).json.data.id, made2];
    const before = await known();
    world.clock.advance(80_000);
    await world.platform.work();
    const repeated = (await known()).filter(id => !before.includes(id));
    assert.equal(repeated.length, 1);
    for (const id of [...copies, ...repeated]) {
      const { data: elements } = (await call(`/events/${id}/elements?sort=position`)).json;
      const own = elements.map((each: { id: string }) => each.id);
      const { attributes } = (await call(`/events/${id}`)).json.data;
      assert.deepEqual(attributes.settings, settingsFor(id, own), id);
    }
    const { attributes } = (await call(`/event_templates/${template}`)).json.data;
    const own = attributes.elements.map((each: { id: string }) => each.id);
    assert.deepEqual(attributes.settings, settingsFor(template, own));
  });

  it("shows all of 1,000 elements or nothing", async t => {
    const { call, clone, totalOf } = await opened(t, 1_000);
    const seen = new Set<number>();
    let isOver = false;
    const readers = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const { data } = (await call(`/projects/${ids.project}/events?sort=-created_at`)).json;
        const copy = data.find(
          ({ attributes }: { attributes: { name: string } }) => attributes.name === "Copy",
        );
        if (copy !== undefined) seen.add(await totalOf(copy.id));
        await setImmediate();
      }
    });
    const cloned = await clone();
    assert.equal(cloned.status, 201, cloned.text);
    isOver = true;
    await Promise.all(readers);
    seen.add(await totalOf(cloned.json.data.id));
    assert.deepEqual([...seen], [1_000]);
  });

  it("copies an event with 1,000 elements as they were at one instant", async t => {
    const { call, event, made, store } = await opened(t, 1_000);
    const { read } = store;
    const changed = [event, made[0] ?? "", made.at(-1) ?? ""];
    let isChanged = false;
    // Event and elements do not fit into one read: others change them in between.
    const readLater = async (...[partition, queries]: Parameters<typeof read>) => {
      if (!isChanged && queries.length > 500) {
        isChanged = true;
        const operations = changed.map((id, index) => ({
          op: "update",
          data: { type: index === 0 ? "events" : "elements", id, attributes: { name: "New" } },
        }));
        const answer = await call("/operations", { body: { "atomic:operations": operations } });
        assert.equal(answer.status, 200, answer.text);
      }
      return await read.call(store, partition, queries);
    };
    Object.assign(store, { read: readLater });
    const { data } = (await call(`/events/${event}/clone`, { body: resource("events", {}) })).json;
    const { data: elements } = (await call(`/events/${data.id}/elements?page[count]=1`)).json;
    assert.deepEqual([isChanged, data.attributes.name, elements[0].attributes.name], [true, "New", "New"]);
  });

  for (const when of moments) {
    it(`leaves nothing of a clone whose process died ${when} a commit`, async t => {
      const { world, call, clone, store } = await opened(t, 401);
      const eventsNow = async () => (await call(`/projects/${ids.project}/events`)).json.data.length;
      let before = await eventsNow();
      for (let at = 0; ; at++) {
        const death = dieAt(store, at, when);
        const answer = await clone();
        death.end();
        if (death.commits <= at) {
          assert.equal(answer.status, 201, answer.text);
          assert.ok(at > 3, "the clone was made in one commit");
          return;
        }
        world.clock.advance(601_000);
        await world.platform.work();
        const events = await eventsNow();
        const isMade = events === before + 1;
        assert.ok(isMade ? when === "after" : events === before, `${events} events after commit ${at}`);
        before = events;
        await assertKept(store, death.written, isMade, at);
      }
    });
  }

  it("repeats an event once, wherever a process dies", async t => {
    const { world, call, event, store, totalOf } = await opened(t, 401);
    const eventsNow = async () =>
      (await call(`/projects/${ids.project}/events`)).json.data.map(({ id }: { id: string }) => id);
    const planned = {
      start_mode: "clock",
      start_at: Math.floor(world.clock.now() / 1_000) + 10,
      duration: 60,
    };
    const body = resource("events", { ...planned, repeat: true, repeat_in: 60_000 });
    assert.equal((await call(`/events/${event}`, { method: "PATCH", body })).status, 204);
    const before = await eventsNow();
    world.clock.advance(100_000);
    const written: string[] = [];
    for (let at = 0; ; at++) {
      const death = dieAt(store, at, at % 2 === 0 ? "before" : "after");
      await world.platform.work().catch(() => undefined);
      death.end();
      written.push(...death.written);
      // Work that failed is tried again later.
      world.clock.advance(61_000);
      if (death.commits <= at) break;
    }
    await world.platform.work();
    const copies = (await eventsNow()).filter((id: string) => !before.includes(id));
    assert.equal(copies.length, 1);
    assert.equal(await totalOf(copies[0]), 401);
    world.clock.advance(601_000);
    await world.platform.work();
    const listed = await call(`/events/${copies[0]}/elements?page[count]=100`);
    assert.equal(listed.json.data.length, 100);
    const kept = await keptOf(store, written);
    assert.ok(new Set(written).size > 401, "no process died while it copied");
    assert.equal(kept.length, 401);
  });
}

describeOnStores("clones of events", clones);
describeOnCluster("clones of events", clones);

const partition = directoryPartition("project", ids.project);

/** Lets a process die at a commit, and notes which elements it wrote. */
function dieAt(store: Store, at: number, when: "before" | "after") {
  const written: string[] = [];
  const death = dieAtCommit(store, at, when, (name, { writes }) => {
    const puts = writes.filter(({ type, key }) => type === "put" && key.startsWith(elementKey("")));
    if (name === partition) written.push(...puts.map(({ key }) => key));
  });
  return Object.assign(death, { written });
}

/** Returns the keys that still have an element. */
async function keptOf(store: Store, keys: readonly string[]): Promise<readonly string[]> {
  const unique = [...new Set(keys)];
  const kept: string[] = [];
  for (let start = 0; start < unique.length; start += 500) {
    const part = unique.slice(start, start + 500);
    const found = await store.read(
      partition,
      part.map(key => ({ type: "record", key }) as const),
    );
    kept.push(...part.filter((_, index) => found[index] !== null));
  }
  return kept;
}

async function assertKept(store: Store, keys: readonly string[], isMade: boolean, at: number): Promise<void> {
  const kept = await keptOf(store, keys);
  assert.equal(kept.length, isMade ? keys.length : 0, `${kept.length} elements are left after commit ${at}`);
}
