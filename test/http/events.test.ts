/** Events of the control API: states, lists, aliases and what the clock does. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { directoryPartition } from "../../lib/fans/directory/records.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { runDoctor } from "../../lib/mod.ts";
import type { PartitionLister, Store } from "../../lib/storage/mod.ts";
import { platformPartition } from "../../lib/storage/names.ts";
import { ids, openPlatform, seed } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

const project = { relationships: { project: to("projects", ids.project) } };

describeOnStores("events", open => {
  async function opened(t: TestContext) {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const headers = await operatorHeaders(world);
    const call = (path: string, options: { method?: string; body?: unknown; headers?: object } = {}) =>
      world.call(`/api/v2${path}`, { ...options, headers: { ...headers, ...options.headers } });
    async function create(attributes: object): Promise<string> {
      const answer = await call("/events", {
        body: resource("events", { name: "Show", ...attributes }, project),
      });
      assert.equal(answer.status, 201, answer.text);
      return answer.json.data.id;
    }
    const change = (id: string, attributes: object, more: object = {}) =>
      call(`/events/${id}`, { method: "PATCH", body: resource("events", attributes, { id }), ...more });
    const list = async (query: string): Promise<readonly string[]> => {
      const answer = await call(`/projects/${ids.project}/events?${query}`);
      assert.equal(answer.status, 200, answer.text);
      return answer.json.data.map(({ id }: { id: string }) => id);
    };
    const seconds = () => Math.floor(world.clock.now() / 1_000);
    const read = async (id: string) => (await call(`/events/${id}`)).json.data?.attributes;
    return { world, call, create, change, list, seconds, read };
  }

  it("finds current and latest beside hundreds of future events", async t => {
    const { world, create, change, list, seconds, read } = await opened(t);
    await change(ids.event, { action: "stop" });
    const now = seconds();
    const running = await create({ start_mode: "clock", start_at: now + 10, duration: 60 });
    for (let index = 0; index < 130; index++) {
      await create({ start_mode: "clock", start_at: now + 1_000 + index, duration: 60 });
    }
    const aliased = async (alias: string): Promise<string | undefined> =>
      (await world.platform.directory.event(ids.project, alias))?.id;
    assert.equal(await aliased("latest"), ids.event);
    assert.equal(await aliased("current"), undefined);
    world.clock.advance(11_000);
    assert.equal(await aliased("current"), running);
    assert.deepEqual(await list("filter[state]=current"), [running]);
    world.clock.advance(60_000);
    assert.equal(await aliased("current"), undefined);
    assert.equal(await aliased("latest"), running);
    assert.equal((await read(running)).state, "past");
    assert.deepEqual(await list("filter[state]=past&sort=start_at"), [ids.event, running]);
    assert.equal((await list("filter[state]=future&page[count]=100")).length, 100);
    assert.equal((await list("filter[only_listings]=true")).length, 12);
  });

  it("repeats an event with its elements once, however many processes do", async t => {
    const { world, call, create, list, seconds, read } = await opened(t);
    const now = seconds();
    const times = { start_mode: "clock", start_at: now + 10, duration: 60, repeat: true, repeat_in: 2 };
    const first = await create({ ...times, extra_time_duration: 5, annotations: { a: "1", "smoke/a": "1" } });
    const inEvent = { relationships: { event: to("events", first) } };
    const poll = { content_type: "poll", name: "Poll", start_mode: "timecode", start_offset: 5 };
    const element = await call("/elements", { body: resource("elements", poll, inEvent) });
    assert.equal(element.status, 201, element.text);
    await world.platform.work();
    world.clock.advance(74_000);
    await world.platform.work();
    assert.equal((await list("")).length, 2, "it has not ended");
    world.clock.advance(1_000);
    await Promise.all([world.platform.work(), world.platform.work()]);
    await world.platform.work();
    const [copy = "", ...others] = (await list("")).filter(id => id !== first && id !== ids.event);
    assert.deepEqual(others, []);
    const shown = await read(copy);
    assert.equal(shown.state, "future");
    assert.equal(shown.start_at, now + 10 + 65 + 120);
    assert.deepEqual(shown.annotations, { a: "1" });
    const [copied, ...more] = (await call(`/events/${copy}/elements`)).json.data;
    assert.deepEqual(more, []);
    assert.notEqual(copied.id, element.json.data.id);
    assert.equal(copied.relationships.event.data.id, copy);
    assert.equal((await call(`/events/${first}/elements`)).json.data[0].id, element.json.data.id);
    world.clock.advance(120_000);
    assert.equal((await read(copy)).state, "current");
    // Nobody worked for a day: one copy follows, and it is not over.
    world.clock.advance(86_400_000);
    await world.platform.work();
    const all = await list("");
    assert.equal(all.length, 4);
    const states = await Promise.all(all.map(async id => (await read(id)).state));
    assert.equal(states.filter(state => state === "past").length, 2);
  });

  it("removes an event with its elements, if its entity tag is current", async t => {
    const { world, call, create } = await opened(t);
    const id = await create({});
    const inEvent = { relationships: { event: to("events", id) } };
    const poll = { content_type: "poll", name: "Poll" };
    const before = (await call(`/events/${id}`)).headers.get("etag") ?? "";
    const elements: string[] = [];
    for (let index = 0; index < 120; index++) {
      const answer = await call("/elements", { body: resource("elements", poll, inEvent) });
      elements.push(answer.json.data.id);
    }
    const remove = (etag: string) =>
      call(`/events/${id}`, { method: "DELETE", headers: { "if-match": etag } });
    const stale = await remove(before);
    assert.equal(stale.status, 412, stale.text);
    assert.equal((await remove(stale.headers.get("etag") ?? "")).status, 204);
    assert.equal((await call(`/elements/${elements[119]}`)).status, 404);
    world.clock.advance(10_000);
    await world.platform.work();
    const reads = elements.map(each => ({ type: "record", key: `element:${each}` }) as const);
    const left = await world.store.read(directoryPartition("project", ids.project), reads);
    assert.ok(left.every(record => record === null));
  });

  it("are found again after lost writes took their project and place from the lists, by the doctor", async t => {
    const { world, call, list, read } = await opened(t);
    const { store, clock } = world;
    const id = "0d000000-0000-4000-8000-0000000000aa";
    const show = { id, projectId: ids.project, name: "Show", state: "current", startAt: 1 } as const;
    await seedDirectory(store, { ...seed, events: [...seed.events, show] }, { clock: clock.now });
    const lose = (partition: string, key: string) =>
      store.commit(partition, { writes: [{ type: "delete", shape: "record", key }] });
    await lose(directoryPartition("space", ids.space), "projects");
    await lose(platformPartition("place", id), "home");
    assert.equal((await call(`/events/${id}`)).status, 404);
    const lister = store as Store & PartitionLister;
    const doctor = async (repairs: boolean) => {
      const verdicts = await runDoctor({ store: lister, clock: clock.now, repairs });
      return verdicts.find(({ check }) => check === "directory");
    };
    const seen = await doctor(false);
    assert.deepEqual([seen?.status, seen?.found], ["found", 2], JSON.stringify(seen));
    assert.equal((await doctor(true))?.repaired, 2);
    assert.equal((await doctor(false))?.status, "ok");
    assert.deepEqual((await read(id)).actions, ["stop"]);
    assert.ok((await list("filter[state]=current&sort=created_at")).includes(id));
    assert.equal((await call(`/spaces/${ids.space}/projects`)).json.data.length, 1);
  });

  it("starts a future event of a seed, and lets the clock have one that is planned anew", async t => {
    const { world, change, read, seconds } = await opened(t);
    const [started, planned] = [
      "0d000000-0000-4000-8000-0000000000bb",
      "0d000000-0000-4000-8000-0000000000cc",
    ];
    const common = { projectId: ids.project, name: "Seeded", state: "future", startAt: seconds() } as const;
    const events = [started, planned].map(id => ({ ...common, id }));
    const again = () =>
      seedDirectory(
        world.store,
        { ...seed, events: [...seed.events, ...events] },
        { clock: world.clock.now },
      );
    await again();
    world.clock.advance(60_000);
    assert.deepEqual([(await read(started)).state, (await read(planned)).state], ["future", "future"]);
    assert.equal((await change(started, { action: "start" })).status, 204);
    assert.equal((await read(started)).state, "current");
    const plan = { start_mode: "clock", start_at: seconds() + 10, duration: 5 };
    assert.equal((await change(planned, plan)).status, 204);
    await again();
    assert.equal((await world.platform.directory.event(ids.project, "current"))?.id, started);
    world.clock.advance(12_000);
    assert.equal((await read(planned)).state, "current");
    assert.equal((await world.platform.directory.event(ids.project, "current"))?.id, planned);
    world.clock.advance(5_000);
    assert.equal((await read(planned)).state, "past");
  });

  it("counts elements as the clock publishes them", async t => {
    const { world, call, create, read, seconds, change } = await opened(t);
    const id = await create({ start_mode: "clock", start_at: seconds() + 10, duration: 60 });
    const add = async (attributes: object): Promise<void> => {
      const inEvent = { relationships: { event: to("events", id) } };
      const body = resource("elements", { content_type: "poll", name: "Poll", ...attributes }, inEvent);
      assert.equal((await call("/elements", { body })).status, 201);
    };
    await add({});
    for (const offset of [5, 20, 90]) await add({ start_mode: "timecode", start_offset: offset });
    const counts = async () => (await read(id)).element_counts;
    assert.deepEqual(await counts(), { all: 4, drafts: 1, scheduled: 3, published: 0 });
    world.clock.advance(16_000);
    assert.deepEqual(await counts(), { all: 4, drafts: 1, scheduled: 2, published: 1 });
    assert.equal((await change(id, { action: "stop" })).status, 204);
    assert.deepEqual(await counts(), { all: 4, drafts: 1, scheduled: 0, published: 1 });
  });

  it("takes every step that was noted as done, although another server's clock is a second ahead", async t => {
    const { world, call, create, read, change, list } = await opened(t);
    await change(ids.event, { action: "stop" });
    const id = await create({});
    const text = (value: string) => ({ fields: [{ key: "text", values: { all: value } }] });
    const question = { options: [text("Home"), text("Away")], fields: [] };
    const poll = resource(
      "elements",
      { content_type: "poll", question, reveal_results_mode: "manual" },
      { relationships: { event: to("events", id) } },
    );
    const element = (await call("/elements", { body: poll })).json.data.id;
    const act = async (action: string, type = "elements", target = element): Promise<void> => {
      const body = resource(type, { action }, { id: target });
      // The server that acts is ahead; the one that is asked next is not.
      world.clock.advance(1_000);
      const answer = await call(`/${type}/${target}`, { method: "PATCH", body });
      world.clock.advance(-1_000);
      assert.equal(answer.status, 204, answer.text);
    };
    const shown = async () => (await call(`/elements/${element}`)).json.data.attributes;
    const feed = async () =>
      (await world.call(`/events/${id.slice(0, 2)}/${id}/history.json`)).json.timeline.map(
        ({ state }: { state: string }) => state,
      );
    await act("start", "events", id);
    assert.equal((await read(id)).state, "current");
    assert.deepEqual(await list("filter[state]=current"), [id]);
    assert.equal((await world.platform.directory.event(ids.project, "current"))?.id, id);
    assert.deepEqual((await shown()).actions, ["publish"]);
    await act("publish");
    assert.equal((await shown()).state, "current");
    assert.deepEqual(await feed(), ["current"]);
    assert.equal(typeof (await shown()).published_at, "number");
    await act("reveal_results");
    assert.equal(typeof (await shown()).results_revealed_at_iso, "string");
    await act("stop");
    assert.equal((await shown()).state, "past");
    await act("stop", "events", id);
    const { state, start_at: begin, end_at: end } = await read(id);
    assert.equal(state, "past");
    assert.deepEqual(await list("filter[state]=current"), []);
    assert.ok(begin <= end);
  });
});
