/** Texts that fans send to an element, over every store. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { AppError } from "../../lib/base/errors/mod.ts";
import { directoryPartition } from "../../lib/fans/directory/records.ts";
import { type Fan, ids, loyalty, openPlatform, seed } from "../support/platform.ts";
import { describeOnEveryStore } from "../support/stores.ts";
import { operatorHeaders, resource } from "./_control_examples.ts";
import { assertProblem } from "./_problem.ts";
import { eventFeed } from "./_producer.ts";
import { Show } from "./_show.ts";

const data = { elementId: "string", text: "string" };
const askingSeed = {
  ...seed,
  loyalty: {
    [ids.space]: {
      ...loyalty,
      actions: [...loyalty.actions, { name: "ask", clientReportable: true, data }],
    },
  },
};
const many = { max_votes_per_user: 0 };

describeOnEveryStore("texts of fans", open => {
  async function opened(t: TestContext, attributes: object = many) {
    const world = await openPlatform(open, { seed: askingSeed });
    t.after(() => world.dispose());
    const show = new Show(world);
    await show.start();
    const asked = { content_type: "ask", question: { fields: [] }, ...attributes };
    const id = await show.publish(asked);
    const headers = await operatorHeaders(world);
    const path = `/api/v2/elements/${id}/answers`;
    const list = async (query = "") => (await world.call(`${path}${query}`, { headers })).json;
    const textsOf = async (): Promise<readonly string[]> =>
      (await list()).data.map((each: { attributes: { text: string } }) => each.attributes.text);
    const change = (changes: readonly (readonly [id: string, shown: boolean])[], query = "") =>
      world.call(`${path}${query}`, {
        method: "PATCH",
        headers,
        body: { data: changes.map(([of, shown]) => ({ type: "answers", id: of, attributes: { shown } })) },
      });
    const history = async () => {
      world.clock.advance(1_500);
      return await world.call(eventFeed(show.eventId, "history"));
    };
    const ask = (fan: Fan, text: unknown, actionId?: string) =>
      world.call("/api/loyalty/action", {
        token: fan.token,
        body: {
          action: "ask",
          data: { elementId: id, text },
          ...(actionId === undefined ? {} : { actionId }),
        },
      });
    async function send(fan: Fan, text: string, actionId?: string): Promise<void> {
      const { status, text: answer } = await ask(fan, text, actionId);
      assert.equal(status, 200, answer);
      world.clock.advance(1);
    }
    return { world, show, id, headers, path, list, textsOf, change, history, ask, send };
  }

  it("are listed newest first, without who sent them, and are in no feed before they are shown", async t => {
    const { world, show, list, change, history, send } = await opened(t);
    const [ann, bob] = [await world.fan("Ann"), await world.fan("Bob")];
    await send(ann, "Who <b>scored</b>?");
    await send(bob, "When is half-time? ⚽");
    const { data: answers, links } = await list();
    assert.deepEqual(
      answers.map((each: { attributes: object }) => each.attributes),
      ["When is half-time? ⚽", "Who <b>scored</b>?"].map(text => ({
        text,
        at: Math.floor(world.clock.now() / 1_000),
        shown: false,
      })),
    );
    assert.equal(links.next, null);
    assert.ok(!JSON.stringify(answers).includes(ann.userId));
    const live = `/events/${show.eventId.slice(0, 2)}/${show.eventId}/live`;
    for (const text of [(await history()).text, (await world.call(live)).text])
      assert.ok(!/scored|half-time/.test(text), text);

    const [newer, older] = answers.map((each: { id: string }) => each.id);
    const before = (await history()).headers.get("etag");
    const dry = await change([[older, true]], "?dry_run=true");
    assert.equal(dry.status, 200, dry.text);
    assert.ok(!(await history()).text.includes("scored"));
    const shown = await change([[older, true]]);
    assert.equal(shown.status, 204, shown.text);
    const feed = await history();
    assert.notEqual(feed.headers.get("etag"), before);
    assert.deepEqual(feed.json.timeline[0].answers, [{ id: older, text: "Who <b>scored</b>?" }]);
    assert.deepEqual(
      (await list()).data.map((each: { attributes: { shown: boolean } }) => each.attributes.shown),
      [false, true],
    );
    await change([[newer, true]]);
    assert.deepEqual(
      (await history()).json.timeline[0].answers.map((each: { id: string }) => each.id),
      [newer, older],
    );
    assert.equal(
      (
        await change([
          [newer, false],
          [older, false],
        ])
      ).status,
      204,
    );
    assert.ok(!/scored|half-time/.test((await history()).text));
  });

  it("are kept once for each vote, whatever is repeated", async t => {
    const { world, textsOf, ask, send } = await opened(t, { max_votes_per_user: 2 });
    const ann = await world.fan("Ann");
    await ann.act("cheer", { eventId: ids.event }, "c1");
    await send(ann, "One", "a1");
    await send(ann, "One", "a1");
    await send(ann, "Other", "a1");
    assert.deepEqual(await textsOf(), ["One"]);
    // The id of another action takes effect no second time, and so brings no text.
    await send(ann, "Free", "c1");
    await send(ann, "Two");
    assert.deepEqual(await textsOf(), ["Two", "One"]);
    assertProblem(await ask(ann, "Three"), 409, "vote_limit");
    assert.deepEqual(await textsOf(), ["Two", "One"]);
  });

  it("are kept by the repetition of a report whose process died before", async t => {
    const { world, textsOf, ask, send } = await opened(t, {});
    const ann = await world.fan("Ann");
    const { commit } = world.store;
    world.store.commit = async (partition, batch) => {
      if (batch.writes.some(({ key }) => key.startsWith("answers:")))
        throw new AppError("storage_unavailable", "Cannot go on: the process has died");
      return await commit.call(world.store, partition, batch);
    };
    assertProblem(await ask(ann, "One", "a1"), 503, "storage_unavailable");
    world.store.commit = commit;
    assert.deepEqual(await textsOf(), []);
    await send(ann, "One", "a1");
    assert.deepEqual(await textsOf(), ["One"]);
    assertProblem(await ask(ann, "Two", "a2"), 409, "vote_limit");
  });

  it("are kept of back ends too", async t => {
    const { world, id, textsOf } = await opened(t);
    const { userId } = await world.fan("Ann");
    const user = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project, userId };
    const report = (text: string, actionId: string) => ({
      action: "ask",
      data: { elementId: id, text },
      actionId,
      isClientReport: false,
    });
    for (let count = 0; count < 2; count++)
      assert.equal(
        (await world.platform.loyalty.reportAll(user, [report("One", "b1"), report("Two", "b2")])).applied,
        2,
      );
    assert.deepEqual((await textsOf()).toSorted(), ["One", "Two"]);
  });

  it("have as many characters as the element says, 280 by default", async t => {
    const { world, textsOf, ask, send } = await opened(t);
    const ann = await world.fan("Ann");
    await send(ann, "⚽".repeat(280));
    for (const text of ["⚽".repeat(281), "", " \n ", "\ud800"]) {
      const answer = await ask(ann, text);
      assert.equal(answer.status, 400, answer.text);
    }
    assert.equal((await textsOf()).length, 1);
    const short = await opened(t, { ...many, custom_fields: [{ key: "max_length", values: { all: 3 } }] });
    const bob = await short.world.fan("Bob");
    const answer = await short.ask(bob, "long");
    assertProblem(answer, 400, "validation_failed");
    assert.deepEqual(answer.json.errors, [
      { pointer: "/data/text", detail: "Expected a text of 1 to 3 characters" },
    ]);
    await short.send(bob, "yes");
    assert.deepEqual(await short.textsOf(), ["yes"]);
  });

  it("are taken while the element is open", async t => {
    const { world, show, id, ask, textsOf } = await opened(t);
    await show.act("elements", id, "stop");
    assertProblem(await ask(await world.fan("Ann"), "Late"), 409, "vote_closed");
    assert.deepEqual(await textsOf(), []);
  });

  it("come in pages", async t => {
    const { world, list, send, path } = await opened(t);
    const ann = await world.fan("Ann");
    for (let n = 0; n < 5; n++) await send(ann, String(n));
    const texts: string[] = [];
    let query: string | undefined = "?page[count]=2";
    while (query !== undefined) {
      const page = await list(query);
      texts.push(...page.data.map((each: { attributes: { text: string } }) => each.attributes.text));
      query = page.links.next === null ? undefined : new URL(page.links.next).search;
    }
    assert.deepEqual(texts, ["4", "3", "2", "1", "0"]);
    const headers = await operatorHeaders(world);
    for (const wrong of ["page[count]=0", "page[count]=101", "page[cursor]=x", "sort=at"])
      assert.equal((await world.call(`${path}?${wrong}`, { headers })).status, 400, wrong);
  });

  it("are shown up to 50 at a time, and only those that the element has", async t => {
    const { world, id, list, change, send } = await opened(t);
    const ann = await world.fan("Ann");
    for (let n = 0; n < 51; n++) await send(ann, String(n));
    const found: string[] = (await list("?page[count]=100")).data.map((each: { id: string }) => each.id);
    assert.equal(found.length, 51);
    const all = await change(found.map(each => [each, true] as const));
    assert.equal(all.status, 409, all.text);
    assert.equal((await change(found.slice(1).map(each => [each, true] as const))).status, 204);
    const unknown = await change([["1-1", true]]);
    assert.equal(unknown.status, 404);
    assert.equal(unknown.json.errors[0].source.pointer, "/data/0/id");
    assert.equal((await change([])).status, 400);
    assert.equal((await change(Array(101).fill(["1-1", false]))).status, 400);
    assert.equal((await change([["x", false]])).status, 204, "what is not shown is hidden");
    assert.ok(id);
  });

  it("end with the element, and with the event", async t => {
    const { world, show, id, headers, send } = await opened(t);
    const other = await show.publish({ content_type: "ask", question: { fields: [] } });
    const ann = await world.fan("Ann");
    await send(ann, "One");
    await ann.act("ask", { elementId: other, text: "Two" });
    const left = async (): Promise<readonly number[]> => {
      const found = await world.store.read(
        directoryPartition("project", ids.project),
        [id, other].map(each => ({ type: "log", key: `answers:${each}`, limit: 10 }) as const),
      );
      return found.map(entries => entries.length);
    };
    assert.deepEqual(await left(), [1, 1]);
    await world.call(`/api/v2/elements/${id}`, { method: "DELETE", headers });
    assert.deepEqual(await left(), [0, 1]);
    await show.act("events", show.eventId, "stop");
    const removed = await world.call(`/api/v2/events/${show.eventId}`, { method: "DELETE", headers });
    assert.equal(removed.status, 204, removed.text);
    assert.deepEqual(await left(), [0, 0]);
    assert.equal((await world.call(`/api/v2/elements/${id}/answers`, { headers })).status, 404);
  });

  it("are not copied with the event", async t => {
    const { world, show, list, change, send, headers } = await opened(t);
    await send(await world.fan("Ann"), "One");
    await change([[(await list()).data[0].id, true]]);
    const clone = await world.call(`/api/v2/events/${show.eventId}/clone`, {
      headers,
      body: resource("events", {}),
    });
    assert.equal(clone.status, 201, clone.text);
    const elements = await world.call(`/api/v2/events/${clone.json.data.id}/elements`, { headers });
    const [copy] = elements.json.data;
    const answers = await world.call(`/api/v2/elements/${copy.id}/answers`, { headers });
    assert.deepEqual(answers.json.data, []);
    await show.act("events", clone.json.data.id, "start");
    await show.act("elements", copy.id, "publish");
    world.clock.advance(1_500);
    const feed = await world.call(eventFeed(clone.json.data.id, "history"));
    assert.equal(feed.json.timeline[0].answers, undefined);
  });
});
