/** Events of the control API: states, lists, aliases and what the clock does. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { directoryPartition } from "../../lib/directory/mod.ts";
import { ids, openPlatform } from "../support/platform.ts";
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
});
