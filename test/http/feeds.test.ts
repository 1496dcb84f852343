/** The public feeds and the statistics in them, over every store. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { createRandom } from "../../adapters/conformance/random.ts";
import { readCounts } from "../../lib/authoring/feeds/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { sampleSize } from "../support/full.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnEveryStore } from "../support/stores.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";
import { eventFeed, type Part, Producer, poll, prefix } from "./_producer.ts";

const listings = `/projects/${prefix(ids.project)}/${ids.project}/listings.json`;

describeOnEveryStore("feeds", open => {
  async function opened(t: TestContext) {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    return { world, producer: new Producer(world) };
  }

  it("lists the events of a project", async t => {
    const { producer } = await opened(t);
    const settings = [{ key: "image_url", values: { all: "https://cdn.example/1.png" } }];
    const id = await producer.event({ name: "Final", duration: 60, settings });
    await producer.act("events", id, "start");
    const feed = await producer.feed(listings);
    const project: Part = feed.project ?? {};
    assert.equal(project.uuid, ids.project);
    assert.equal(typeof project.embed, "string");
    const events = feed.events as unknown as Part[];
    const final = events.find(event => event.id === id) ?? {};
    assert.equal(final.started, true);
    assert.equal(final.image_url, "//cdn.example/1.png");
    assert.deepEqual(final.custom_fields, { image_url: "//cdn.example/1.png" });
    assert.equal(Number(final.end_at) - Number(final.start_at), 60);
  });

  it("lists what runs, and the ten nearest past and future events by begin", async t => {
    const { world, producer } = await opened(t);
    const now = Math.floor(world.clock.now() / 1_000);
    const at = async (start: number, duration: number) =>
      await producer.event({ name: String(start), start_mode: "clock", start_at: now + start, duration });
    for (let index = 1; index <= 12; index++) {
      await at(-10_000 * index, 60);
      await at(10_000 * index, 60);
    }
    await at(-200_000, 1_000_000);
    const { events } = await producer.feed(listings);
    const numbers = (from: number, count: number, by: number) =>
      Array.from({ length: count }, (_, index) => String(from + by * index));
    assert.deepEqual(
      (events as unknown as Part[]).map(({ name }) => name).filter(name => name !== "Match"),
      ["-200000", ...numbers(-100_000, 10, 10_000), ...numbers(10_000, 10, 10_000)],
    );
  });

  it("answers 304 to whom the feed is known, and 404 to other addresses", async t => {
    const { world } = await opened(t);
    const first = await world.call(listings);
    assert.equal(first.headers.get("cache-control"), "public, max-age=5, stale-while-revalidate=25");
    assert.equal(first.headers.get("access-control-allow-origin"), "*");
    const etag = first.headers.get("etag") ?? "";
    const again = await world.call(listings, { headers: { "if-none-match": etag } });
    assert.equal(again.status, 304);
    assert.equal(again.headers.get("etag"), etag);
    const unknown = "0cffffff-0000-4000-8000-000000000001";
    for (const path of [
      `/projects/ff/${ids.project}/listings.json`,
      `/projects/0c/${unknown}/listings.json`,
      "/projects/no/not-an-id/listings.json",
      `/events/ff/${ids.event}/history.json`,
      `/events/${prefix(ids.project)}/${ids.project}/livestats.json`,
      eventFeed(unknown, "latest_results"),
    ]) {
      assert.equal((await world.call(path)).status, 404, path);
    }
    assert.equal((await world.call(eventFeed(ids.event, "history"))).status, 200);
  });

  it("names the feeds of projects and events", async t => {
    const { world } = await opened(t);
    const headers = await operatorHeaders(world);
    const { json: event } = await world.call(`/api/v2/events/${ids.event}`, { headers });
    const { json: project } = await world.call(`/api/v2/projects/${ids.project}`, { headers });
    for (const owner of [event, project]) {
      const { self: _, consumer: _page, studio: _studio, ...feeds } = owner.data.attributes.urls;
      assert.ok(Object.keys(feeds).length > 0);
      for (const url of Object.values(feeds)) {
        assert.equal((await world.call(new URL(String(url)).pathname)).status, 200, String(url));
      }
    }
  });

  it("shows what was published and not revoked, oldest first, and no answer before its time", async t => {
    const { producer } = await opened(t);
    const id = await producer.event({ name: "Show", duration: 10_000 });
    await producer.act("events", id, "start");
    const custom = [
      { key: "hint", values: { all: "Think" } },
      { key: "correctAnswer", values: { all: "2" } },
      { key: "explanation", values: { all: "Two it is" } },
    ];
    const quiz = await producer.element(id, { ...poll, correct_option: 2, custom_fields: custom });
    const late = await producer.element(id);
    await producer.element(id, { name: "draft" });
    await producer.act("elements", quiz, "publish");
    await producer.feed(listings);
    await producer.act("elements", late, "publish");
    const path = eventFeed(id, "history");
    const before = (await producer.feed(path)).timeline as unknown as Part[];
    assert.deepEqual(
      before.map(item => item.id),
      [quiz, late],
    );
    assert.deepEqual(before[0]?.custom_fields, { all: { hint: "Think" } });
    assert.deepEqual(before[0]?.question, { all: { text: "Who wins?" }, es: { text: "¿Quién gana?" } });
    assert.equal(before[0]?.correct_option, undefined);
    await producer.act("elements", quiz, "reveal_answer");
    await producer.act("elements", late, "revoke");
    const after = (await producer.feed(path)).timeline as unknown as Part[];
    assert.deepEqual(
      after.map(item => item.id),
      [quiz],
    );
    assert.equal(after[0]?.correct_option, 2);
    assert.deepEqual(after[0]?.custom_fields, {
      all: { hint: "Think", correctAnswer: "2", explanation: "Two it is" },
    });
  });

  it("gives files that elements name by id their addresses, and says what pictures show", async t => {
    const { world, producer } = await opened(t);
    const headers = await operatorHeaders(world);
    const file = await world.call(`/api/v2/spaces/${ids.space}/assets?name=a.txt`, {
      body: "Crest",
      headers,
    });
    const { id, attributes } = file.json.data;
    const { url } = attributes;
    const describeIt = (alt_text: string) =>
      producer.write(`/assets/${id}`, "PATCH", resource("assets", { alt_text }, { id }));
    await describeIt("A crest");
    const event = await producer.event({ name: "Show", duration: 10_000 });
    await producer.act("events", event, "start");
    const image = (value: unknown) => [{ key: "image", values: { all: value } }];
    const other = "0cffffff-0000-8000-8000-000000000001";
    const custom_fields = [...image(id.toUpperCase()), { key: "more", values: { all: [id, other] } }];
    const options = [{ fields: image(`${url}?w=2`) }, { fields: image(null) }];
    const results = { include_in_latest_results_feed: true, reveal_results_mode: "manual" };
    const poll = await producer.element(event, { custom_fields, question: { options }, ...results });
    await producer.act("elements", poll, "publish");
    await producer.act("elements", poll, "reveal_results");
    const read = async () =>
      ((await producer.feed(eventFeed(event, "history"))).timeline as unknown as Part[])[0] ?? {};
    const shown = await read();
    assert.deepEqual(shown.custom_fields, { all: { image: url, more: [url, other] } });
    assert.deepEqual(shown.options, [{ all: { image: `${url}?w=2` } }, { all: {} }]);
    assert.deepEqual(shown.alt_texts, { [url]: "A crest", [`${url}?w=2`]: "A crest" });
    const { results: latest } = await producer.feed(eventFeed(event, "latest_results"));
    assert.deepEqual((latest as unknown as Part[])[0]?.alt_texts, { [`${url}?w=2`]: "A crest" });
    const { json: written } = await world.call(`/api/v2/elements/${poll}`, { headers });
    assert.deepEqual(written.data.attributes.custom_fields, custom_fields, "as it was written");
    await describeIt("A lion");
    world.clock.advance(5_000);
    assert.deepEqual((await read()).alt_texts, { [url]: "A lion", [`${url}?w=2`]: "A lion" });
  });

  it("says of each element which type, state, wrapper and times it has", async t => {
    const { world, producer } = await opened(t);
    const id = await producer.event({ name: "Show", duration: 10_000 });
    await producer.act("events", id, "start");
    const group = { content_type: "group", ...poll };
    const wrapper = await producer.element(id, group);
    const child = await producer.element(id, { ...poll, duration: 60 });
    const parent = { relationships: { parent: to("elements", wrapper) } };
    await producer.write(`/elements/${child}`, "PATCH", resource("elements", {}, parent));
    const begun = world.clock.now();
    await producer.act("elements", child, "publish");
    world.clock.advance(5_000);
    await producer.act("elements", wrapper, "publish");
    const iso = (ms: number) => new Date(Math.floor((begun + ms) / 1_000) * 1_000).toISOString();
    const { timeline } = await producer.feed(eventFeed(id, "history"));
    const facts = (timeline as unknown as Part[]).map(item => [
      ...[item.id, item.content_type, item.state, item.parent],
      ...[item.published_at_iso, item.closes_at_iso, item.duration, item.updated_at_iso],
    ]);
    assert.deepEqual(facts, [
      [child, "poll", "current", wrapper, iso(0), iso(60_000), 60, iso(0)],
      [wrapper, "group", "current", undefined, iso(5_000), iso(10_000_000), undefined, iso(5_000)],
    ]);
  });

  it("has no null in its items", async t => {
    const { producer } = await opened(t);
    const id = await producer.event({ name: "Show", duration: 0 });
    await producer.act("events", id, "start");
    const fields = [
      { key: "image", values: { all: null, es: "a" } },
      { key: "points", values: { all: 0 } },
    ];
    const question = { fields, options: [{ fields }] };
    const shown = { question, custom_fields: fields, include_in_latest_results_feed: true };
    const poll = await producer.element(id, shown);
    await producer.act("elements", poll, "publish");
    const { timeline } = await producer.feed(eventFeed(id, "history"));
    const [item] = timeline as unknown as Part[];
    assert.deepEqual(item?.custom_fields, { all: { points: 0 }, es: { image: "a" } });
    assert.deepEqual(item?.options, [{ all: { points: 0 }, es: { image: "a" } }]);
    assert.equal(item !== undefined && "closes_at_iso" in item, false);
    assert.doesNotMatch(JSON.stringify(item), /null/);
    const { results } = await producer.feed(eventFeed(id, "latest_results"));
    assert.doesNotMatch(JSON.stringify(results), /null/);
  });

  it("shows results when the mode of the element says so, as a model does", async t => {
    const { world, producer } = await opened(t);
    const random = createRandom(7).next;
    const modes = ["vote", "close", "event_end", "never", "manual"];
    const id = await producer.event({ name: "Show", duration: 120, on_demand_duration: 60 });
    await producer.act("events", id, "start");
    const startedAt = Math.floor(world.clock.now() / 1_000);
    const model: {
      id: string;
      mode: string;
      duration: number;
      at?: number;
      stop?: number;
      reveal?: number;
    }[] = [];
    for (const mode of modes) {
      for (const duration of [0, 20]) {
        const element = { reveal_results_mode: mode, duration, include_in_latest_results_feed: true };
        model.push({ id: await producer.element(id, element), mode, duration });
      }
    }
    for (let step = 0; step < sampleSize(120, 40); step++) {
      const now = Math.floor(world.clock.now() / 1_000);
      const one = model[Math.floor(random() * model.length)];
      const end = startedAt + 120;
      const closes = (each: (typeof model)[number]): number =>
        Math.min(
          each.stop ?? Number.POSITIVE_INFINITY,
          each.duration === 0 ? Number.POSITIVE_INFINITY : (each.at ?? 0) + each.duration,
          (each.at ?? 0) < end ? end : Number.POSITIVE_INFINITY,
        );
      if (one !== undefined && now < end + 60) {
        if (one.at === undefined) {
          await producer.act("elements", one.id, "publish");
          one.at = now;
        } else if (random() < 0.3 && now < closes(one)) {
          await producer.act("elements", one.id, "stop");
          one.stop = now;
        } else if (random() < 0.2) {
          await producer.act("elements", one.id, "reveal_results");
          one.reveal = now;
        }
      }
      world.clock.advance(Math.floor(random() * 5) * 1_000);
      const { results } = await producer.feed(eventFeed(id, "latest_results"));
      const then = world.clock.now() / 1_000;
      const shown = model.filter(each => {
        if (each.at === undefined || each.mode === "never") return false;
        if (each.reveal !== undefined) return true;
        if (each.mode === "manual") return false;
        return then >= { vote: each.at, close: closes(each), event_end: end }[each.mode as "vote"];
      });
      assert.deepEqual(
        (results as unknown as Part[]).map(item => item.id).sort(),
        shown.map(each => each.id).sort(),
        `step ${step}`,
      );
      const { timeline } = await producer.feed(eventFeed(id, "history"));
      assert.equal(
        (timeline as unknown as Part[]).length,
        model.filter(each => each.at !== undefined).length,
      );
    }
  });

  it("counts actions that name an element, each once", async t => {
    const { world, producer } = await opened(t);
    const id = await producer.event({ name: "Show", duration: 10_000 });
    await producer.act("events", id, "start");
    const modes = ["vote", "close"];
    const [shown = "", hidden = ""] = await Promise.all(
      modes.map(mode =>
        producer.element(id, {
          ...{ ...poll, max_options_per_vote: 2 },
          ...{ reveal_results_mode: mode, include_in_latest_results_feed: true },
        }),
      ),
    );
    for (const each of [shown, hidden]) await producer.act("elements", each, "publish");
    const [ann, bob] = [await world.fan("Ann"), await world.fan("Bob")];
    const vote = (fan: typeof ann, data: Part, actionId?: string) => fan.act("cheer", data, actionId);
    await vote(ann, { elementId: shown, option: 2 }, "a1");
    await vote(ann, { elementId: shown, option: 2 }, "a1");
    await vote(bob, { elementId: shown, option: "1,2" });
    await vote(bob, { elementId: shown, option: "1,x" });
    await vote(bob, { elementId: hidden, option: 1 });
    await vote(bob, { eventId: id });
    await vote(bob, { elementId: "0cffffff-0000-4000-8000-000000000001", option: 1 });
    await vote(bob, { elementId: "nothing", option: 1 });
    await world.platform.idle();
    const live = await producer.feed(eventFeed(id, "livestats"));
    assert.deepEqual(live, {
      id,
      state: "current",
      actions: 4,
      elements: [
        { id: shown, actions: 2, votes: [1, 2] },
        { id: hidden, actions: 1 },
      ],
    });
    const { results } = await producer.feed(eventFeed(id, "latest_results"));
    assert.deepEqual(
      (results as unknown as Part[]).map(({ id: of, votes, actions }) => [of, votes, actions]),
      [[shown, [1, 2], 2]],
    );
    const headers = await operatorHeaders(world);
    const answer = await world.call(`/api/v2/events/${id}/elements?include=stats`, { headers });
    const stats = answer.json.included.filter(({ type }: { type: string }) => type === "stats");
    assert.deepEqual(
      stats.map(({ id: of, attributes }: Part) => [of, attributes]),
      [
        [shown, { actions: 2, options: { 1: 1, 2: 2 } }],
        [hidden, { actions: 1, options: { 1: 1 } }],
      ],
    );
    const events = await world.call(`/api/v2/projects/${ids.project}/events?include=stats`, { headers });
    const ofEvent = events.json.included.find((each: Part) => each.id === id && each.type === "stats");
    assert.equal(ofEvent.attributes.actions, 4);
    await producer.act("events", id, "stop");
    const removed = await world.call(`/api/v2/events/${id}`, { method: "DELETE", headers });
    assert.equal(removed.status, 204, removed.text);
    const left = await readCounts(world.store, ids.project, [id, shown, hidden]);
    assert.equal([...left.values()].flatMap(counts => [...counts]).length, 0);
  });

  it("counts no action of a user of another space", async t => {
    const { world, producer } = await opened(t);
    const id = await producer.event({ name: "Show" });
    const counts = world.platform.loyalty;
    const user = {
      organisationId: ids.otherOrganisation,
      spaceId: ids.otherSpace,
      projectId: null,
      userId: "u",
    };
    const report = { action: "cheer", data: { eventId: id }, isClientReport: false };
    await counts.report(user, report).catch(() => {});
    await world.platform.idle();
    assert.equal((await producer.feed(eventFeed(id, "livestats"))).actions, 0);
  });

  it("shows a publication within a second in every process", async t => {
    let shared: Store | undefined;
    const openShared = async (clock: () => number): Promise<Store> => {
      shared ??= await open(clock);
      return shared;
    };
    const [one, two] = [await openPlatform(openShared), await openPlatform(openShared)];
    t.after(async () => {
      await two.platform.close();
      await one.dispose();
    });
    const producer = new Producer(one);
    const id = await producer.event({ name: "Show", duration: 10_000 });
    await producer.act("events", id, "start");
    const element = await producer.element(id);
    const path = eventFeed(id, "history");
    for (const { call } of [one, two]) assert.deepEqual((await call(path)).json.timeline, []);
    await producer.act("elements", element, "publish");
    for (const { call, clock } of [one, two]) {
      clock.advance(1_000);
      assert.equal((await call(path)).json.timeline.length, 1);
    }
    const namesIn = async ({ call }: TestPlatform): Promise<readonly unknown[]> =>
      (await call(listings)).json.events.map(({ name }: Part) => name);
    for (const each of [one, two]) assert.ok(!(await namesIn(each)).includes("Late"));
    await producer.event({ name: "Late", duration: 10_000 });
    for (const each of [one, two]) {
      each.clock.advance(1_000);
      assert.ok((await namesIn(each)).includes("Late"));
    }
  });

  it("reads the store at most twice a second for a feed, however many ask", async t => {
    let reads = 0;
    const world = await openPlatform(async clock => {
      const store = await open(clock);
      const read = store.read.bind(store);
      store.read = (partition, queries) => {
        reads += 1;
        return read(partition, queries);
      };
      return store;
    });
    t.after(() => world.dispose());
    const producer = new Producer(world);
    const id = await producer.event({ name: "Show", duration: 10_000 });
    await producer.act("events", id, "start");
    const inEvent = { relationships: { event: to("events", id) } };
    const add = { op: "add", ...resource("elements", { content_type: "poll", action: "publish" }, inEvent) };
    for (const count of [400, 200]) await producer.operate(Array.from({ length: count }, () => add));
    for (const path of [
      listings,
      ...["history", "latest_results", "livestats"].map(name => eventFeed(id, name)),
    ]) {
      await producer.feed(path);
      const etag = (await world.call(path)).headers.get("etag") ?? "";
      const poll = () => world.call(path, { headers: { "if-none-match": etag } });
      reads = 0;
      const seconds = 9;
      for (let tick = 0; tick < 500; tick++) {
        world.clock.advance((seconds * 1_000) / 500);
        await Promise.all([poll(), poll()]);
      }
      assert.ok(reads <= 2 * seconds, `1,000 pollers of ${path} caused ${reads} reads in ${seconds} s`);
    }
  });
});
