/** Elements against the content types of their project's app, and what listings take from an app. */

import assert from "node:assert/strict";
import { after, before, it, type TestContext } from "node:test";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import type { Answer } from "../support/platform.ts";
import { ids } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { AppServer, elements, field, openAuthor, pointersOf, poll, question, spec } from "./_apps.ts";
import { resource, to } from "./_control_examples.ts";

const group = { name: "Group", content_type: "group", wrapper: true, allowed_children: ["poll", "group"] };
const quiz = {
  ...{ ...poll, name: "Quiz", content_type: "quiz", derived_from: "trivia" },
  custom_fields: [{ properties: [] }],
};

const riddle = {
  ...{ name: "Riddle", content_type: "riddle" },
  custom_fields: [{ properties: [{ key: "correctAnswer", type: "text" }] }],
};

describeOnStores("contents of elements", open => {
  const server = new AppServer();
  const outbound = createOutbound({ networks: ["127.0.0.1"] });
  before(() => server.start());
  after(() => server.stop());

  /** Opens a platform with a project that has an app, and a running event. */
  async function opened(t: TestContext, root: object = spec) {
    const author = await openAuthor(t, open, outbound);
    const app = (await author.addApp(server.publish("content", root, [...elements, group, quiz, riddle])))
      .json.data.id;
    const projectId: string = (await author.addProject(app)).json.data.id;
    const project = to("projects", projectId);
    const show = (attributes: object) => author.create("events", attributes, { project });
    const eventId = await show({ name: "Match", action: "start", duration: 3_600 });
    const event = to("events", eventId);
    const write = (attributes: object, more: object = {}) =>
      author.call("/elements", {
        body: resource("elements", attributes, { relationships: { event, ...more } }),
      });
    return { ...author, app, projectId, project, show, eventId, event, write };
  }

  it("have the fields of their content type, and published ones the mandatory ones", async t => {
    const { write, patch } = await opened(t);
    const unknownType = await write({ content_type: "quizz" });
    assert.equal(unknownType.status, 422, unknownType.text);
    assert.deepEqual(pointersOf(unknownType), ["/data/attributes/content_type"]);
    const wrong = { fields: [field("question", 1), field("colour", "red")] };
    assert.deepEqual(pointersOf(await write({ content_type: "poll", question: wrong })), [
      "/data/attributes/question/fields/0/values/all",
      "/data/attributes/question/fields/1/key",
    ]);
    const missing = ["/data/attributes/question/fields", "/data/attributes/question/options"];
    assert.deepEqual(pointersOf(await write({ content_type: "poll", action: "publish" })), missing);
    const draft = await write({ content_type: "poll" });
    assert.equal(draft.status, 201, draft.text);
    const { id } = draft.json.data;
    const early = await patch("elements", id, { action: "publish" });
    assert.equal(early.status, 422, early.text);
    assert.deepEqual(pointersOf(early), missing);
    const published = await patch("elements", id, { question, action: "publish" });
    assert.equal(published.status, 204, published.text);
  });

  it("show in lists what changed in the same second", async t => {
    const { call, create, patch, projectId, project, write, show, eventId } = await opened(t);
    const others = [await show({ name: "Second" }), await show({ name: "Third" })];
    const list = async (count = 10) =>
      (await call(`/projects/${projectId}/events?sort=created_at&page[count]=${count}`)).json.data;
    const single = async (id: string) => {
      const { attributes, ...event } = (await call(`/events/${id}`)).json.data;
      const { services, ...light } = attributes;
      assert.deepEqual(services, {});
      return { ...event, attributes: light };
    };
    const assertShown = async (count: number) => {
      const byId = (left: { id: string }, right: { id: string }) => (left.id < right.id ? -1 : 1);
      const listed = await list();
      const events = await Promise.all([eventId, ...others].slice(0, count).map(single));
      assert.deepEqual(listed.toSorted(byId), events.sort(byId));
      // Alone, each shows more.
      assert.deepEqual(await list(), listed);
      assert.deepEqual(await list(count - 1), listed.slice(0, -1));
      assert.deepEqual(await list(), listed);
    };
    await assertShown(3);
    await patch("events", eventId, { name: "First" });
    await assertShown(3);
    assert.equal((await write({ content_type: "poll" })).status, 201);
    await assertShown(3);
    const [first] = (await list()).filter(({ id }: { id: string }) => id === eventId);
    assert.deepEqual([first.attributes.name, first.attributes.element_counts.all], ["First", 1]);
    await call(`/events/${others[1]}`, { method: "DELETE" });
    await assertShown(2);
    others[1] = await create("events", { name: "Fourth" }, { project });
    await assertShown(3);
  });

  it("take the right answer of a quiz as a number or a text", async t => {
    const { write, patch } = await opened(t);
    for (const answer of [2, "2"]) {
      const custom_fields = [field("correctAnswer", answer)];
      const made = await write({ content_type: "quiz", question, custom_fields, action: "publish" });
      assert.equal(made.status, 201, made.text);
      assert.equal(made.json.data.attributes.correct_option, 2);
    }
    const custom_fields = [field("correctAnswer", 2)];
    assert.equal((await write({ content_type: "fan_cam", custom_fields })).status, 422);
    const { id } = (await write({ content_type: "quiz", question, custom_fields })).json.data;
    const more = await patch("elements", id, { custom_fields: [field("hint", "Think")] });
    assert.deepEqual(pointersOf(more), ["/data/attributes/custom_fields/0/key"]);
  });

  it("have one right option, whether it is written as correct_option or as correctAnswer", async t => {
    const { call, write, patch } = await opened(t);
    const create = async (attributes: object): Promise<string> =>
      (await write({ content_type: "quiz", question, ...attributes })).json.data.id;
    const answersOf = async (id: string) => {
      const { correct_option: option, custom_fields } = (await call(`/elements/${id}`)).json.data.attributes;
      return [option, custom_fields.find(({ key }: { key: string }) => key === "correctAnswer")?.values];
    };
    const id = await create({ correct_option: 1 });
    assert.deepEqual(await answersOf(id), [1, { all: 1 }]);
    await patch("elements", id, { custom_fields: [field("correctAnswer", "2")] });
    assert.deepEqual(await answersOf(id), [2, { all: "2" }]);
    await patch("elements", id, { action: "publish" });
    assert.equal((await patch("elements", id, { correct_option: 1 })).status, 204);
    assert.deepEqual(await answersOf(id), [1, { all: "1" }]);
    const conflict = { correct_option: 1, custom_fields: [field("correctAnswer", 2)] };
    for (const refused of [
      await patch("elements", id, conflict),
      await patch("elements", id, { custom_fields: [field("correctAnswer", "Home")] }),
      await write({ content_type: "quiz", question, ...conflict }),
    ]) {
      assert.equal(refused.status, 422, refused.text);
      assert.deepEqual(pointersOf(refused), ["/data/attributes/custom_fields/0/values"]);
    }
    assert.deepEqual(await answersOf(id), [1, { all: "1" }]);
    assert.equal((await patch("elements", id, { correct_option: null })).status, 204);
    assert.deepEqual(await answersOf(id), [null, undefined]);
    await patch("elements", id, { custom_fields: [field("correctAnswer", 2)] });
    await patch("elements", id, { custom_fields: [field("correctAnswer", null)] });
    assert.deepEqual(await answersOf(id), [null, { all: null }]);
  });

  it("may mean something else by correctAnswer where the type says so", async t => {
    const { call, write } = await opened(t);
    const custom_fields = [field("correctAnswer", "A river")];
    const { id } = (await write({ content_type: "riddle", custom_fields, correct_option: 1 })).json.data;
    const { attributes } = (await call(`/elements/${id}`)).json.data;
    assert.deepEqual([attributes.correct_option, attributes.custom_fields], [1, custom_fields]);
  });

  it("are complete before the clock can publish them", async t => {
    const { world, call, write, patch, eventId } = await opened(t);
    const planned = { start_mode: "timecode", start_offset: 60 };
    const refused = await write({ content_type: "poll", ...planned });
    assert.deepEqual(pointersOf(refused), [
      "/data/attributes/question/fields",
      "/data/attributes/question/options",
    ]);
    const { id } = (await write({ content_type: "poll", start_offset: 30 })).json.data;
    assert.equal((await patch("elements", id, { start_mode: "timecode" })).status, 422);
    const scheduled = await patch("elements", id, { question, ...planned });
    assert.equal(scheduled.status, 204, scheduled.text);
    const emptied = { fields: [field("question", "")] };
    assert.equal((await patch("elements", id, { question: emptied })).status, 422);
    assert.equal((await patch("elements", id, { offset: 90 })).status, 204);
    const history = `/events/${eventId.slice(0, 2)}/${eventId}/history.json`;
    world.clock.advance(80_000);
    assert.equal((await world.call(history)).json.timeline.length, 0);
    world.clock.advance(11_000);
    assert.equal((await world.call(history)).json.timeline.length, 1);
    assert.equal((await call(`/elements/${id}`)).json.data.attributes.state, "current");
  });

  it("have no type that the project hides, unless they had it before", async t => {
    const { write, patch, projectId } = await opened(t);
    const { id } = (await write({ content_type: "poll" })).json.data;
    await patch("projects", projectId, { hidden_elements: ["poll"] });
    const refused = await write({ content_type: "poll" });
    assert.equal(refused.status, 422, refused.text);
    assert.match(refused.json.errors[0].detail, /: fan_cam, group, quiz, riddle$/);
    assert.equal((await patch("elements", id, { question, action: "publish" })).status, 204);
  });

  it("are shown by wrappers that may show them", async t => {
    const { write, patch } = await opened(t);
    const made = async (content_type: string): Promise<string> => {
      const answer = await write({ content_type });
      assert.equal(answer.status, 201, answer.text);
      return answer.json.data.id;
    };
    const [wrapper, other, plain, cam] = [
      await made("group"),
      await made("group"),
      await made("poll"),
      await made("fan_cam"),
    ];
    const under = (id: string, parent: string) =>
      patch("elements", id, {}, { parent: to("elements", parent) });
    assert.equal((await under(plain, wrapper)).status, 204);
    for (const [id, parent] of [
      [cam, wrapper],
      [other, wrapper],
      [cam, other],
    ] as const) {
      const refused = await under(id, parent);
      assert.equal(refused.status, 422, refused.text);
      assert.deepEqual(pointersOf(refused), ["/data/relationships/parent"]);
    }
    const inPoll = await write({ content_type: "poll" }, { parent: to("elements", cam) });
    assert.match(inPoll.json.errors[0].detail, /is a wrapper/);
  });

  it("are checked in the batch that creates their project", async t => {
    const { call, app } = await opened(t);
    const add = (type: string, lid: string, attributes: object, relationships: object) => ({
      op: "add",
      data: { type, lid, attributes, relationships },
    });
    const link = (type: string, lid: string) => ({ data: { type, lid } });
    const batch = (content_type: string) => ({
      "atomic:operations": [
        add("projects", "p", { name: "New" }, { space: to("spaces", ids.space), app: to("apps", app) }),
        add("events", "e", { name: "Show" }, { project: link("projects", "p") }),
        add("elements", "x", { content_type }, { event: link("events", "e") }),
      ],
    });
    for (const query of ["", "?dry_run=true"]) {
      const refused = await call(`/operations${query}`, { body: batch("cheer") });
      assert.equal(refused.status, 422, refused.text);
      assert.deepEqual(pointersOf(refused), ["/atomic:operations/2/data/attributes/content_type"]);
    }
    assert.equal((await call("/operations", { body: batch("poll") })).status, 200);
  });

  it("are written in one read and one commit, one after another", async t => {
    const { world, write } = await opened(t);
    assert.equal((await write({ content_type: "poll" })).status, 201);
    const { store } = world;
    const read = store.read.bind(store);
    const commit = store.commit.bind(store);
    let trips = "";
    store.read = (partition, queries) => {
      trips += "r";
      return read(partition, queries);
    };
    store.commit = (partition, batch) => {
      trips += "c";
      return commit(partition, batch);
    };
    assert.equal((await write({ content_type: "poll", question })).status, 201);
    assert.equal(trips, "rc");
  });

  it("are not checked in projects without an app", async t => {
    const { create } = await openAuthor(t, open);
    const project = to("projects", ids.project);
    const event = to("events", await create("events", { name: "Match" }, { project }));
    await create("elements", { content_type: "anything", start_mode: "timecode" }, { event });
  });

  it("listings show as many events as the app says, and its address", async t => {
    const root = { ...spec, listings: { past: 1, future: 2 }, embed_url: "https://embed.example/match" };
    const { world, call, show, projectId, patch } = await opened(t, root);
    const now = Math.floor(world.clock.now() / 1_000);
    for (let n = 1; n <= 3; n++) {
      const planned = { start_mode: "clock", duration: 60 };
      await show({ name: `past ${n}`, ...planned, start_at: now - 1_000 * n });
      await show({ name: `future ${n}`, ...planned, start_at: now + 1_000 * n });
    }
    world.clock.advance(1_500);
    const listings = `/projects/${projectId.slice(0, 2)}/${projectId}/listings.json`;
    const shown = ["past 1", "Match", "future 1", "future 2"];
    const namesOf = (events: readonly { readonly name: string }[]) => events.map(({ name }) => name);
    const feed = await world.call(listings);
    assert.deepEqual(namesOf(feed.json.events), shown);
    assert.equal(feed.json.project.embed, "//embed.example/match");
    const listed = await call(`/projects/${projectId}/events?filter[only_listings]=true&sort=start_at`);
    assert.deepEqual(namesOf(listed.json.data.map(({ attributes }: Answer["json"]) => attributes)), shown);
    assert.equal((await patch("projects", projectId, { name: "Other" })).status, 204);
    world.clock.advance(1_500);
    assert.deepEqual(namesOf((await world.call(listings)).json.events), shown);
  });
});
