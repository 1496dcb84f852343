/** The analytics of events, over every store. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { directoryPartition } from "../../lib/fans/directory/records.ts";
import { liveIntervalMs } from "../../lib/http/live_streams.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { EventReader } from "../support/event_stream.ts";
import { ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnEveryStore } from "../support/stores.ts";
import { createManualTimer } from "../support/timer.ts";
import { until } from "../support/until.ts";
import { operatorHeaders } from "./_control_examples.ts";
import { Show } from "./_show.ts";

const unbounded = { max_votes_per_user: 0, max_votes_per_option: 0 };
const points = [{ type: "metric", metricId: "points", metricQuantity: 2 }];
const votingSeed = {
  ...seed,
  loyalty: {
    [ids.space]: {
      ...loyalty,
      actions: [...loyalty.actions, { name: "vote", clientReportable: true }],
      rules: [...loyalty.rules, { id: "vote", trigger: { action: "vote" }, effects: points }],
    },
  },
};

describeOnEveryStore("the analytics of an event", open => {
  async function opened(t: TestContext, openStore: (clock: () => number) => Promise<Store> = open) {
    const time = createManualTimer();
    const world = await openPlatform(openStore, { seed: votingSeed, timer: time.timer });
    t.after(() => world.dispose());
    // From the begin of a minute, so that no test meets the end of one by chance.
    world.clock.advance(3_600_000 - (world.clock.now() % 3_600_000));
    const show = new Show(world);
    await show.start();
    return { world, show, time };
  }

  async function analyticsOf(world: TestPlatform, eventId: string, query = "") {
    await world.platform.idle();
    const headers = await operatorHeaders(world);
    const answer = await world.call(`/api/v2/events/${eventId}/analytics${query}`, { headers });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([answer.json.data.type, answer.json.data.id], ["event_analytics", eventId]);
    return answer.json.data.attributes;
  }

  it("count people, actions, points and votes by element and step", async t => {
    const { world, show } = await opened(t);
    const begin = world.clock.now() / 1_000;
    const [first, second] = [await show.publish(unbounded), await show.publish(unbounded)];
    const [ann, bob] = [await world.fan("Ann"), await world.fan("Bob")];
    const vote = (fan: typeof ann, elementId: string, option: number) =>
      fan.act("vote", { elementId, option });
    await vote(ann, first, 1);
    await vote(ann, first, 1);
    await vote(bob, first, 3);
    await world.platform.idle();
    world.clock.advance(60_000);
    await vote(bob, second, 2);
    await world.platform.idle();
    world.clock.advance(240_000);
    await ann.act("cheer", { eventId: show.eventId });
    const ofFirst = { people: 2, actions: 3, points: { points: 6 } };
    const ofSecond = { people: 1, actions: 1, points: { points: 2 } };
    const { as_of, ...found } = await analyticsOf(world, show.eventId);
    assert.equal(as_of, begin + 300);
    assert.deepEqual(found, {
      step: 60,
      is_exact: true,
      watching: 0,
      people: 2,
      actions: 5,
      points: { points: 8 },
      steps: [
        { from: begin, ...ofFirst },
        { from: begin + 60, ...ofSecond },
        { from: begin + 300, people: 1, actions: 1, points: {} },
      ],
      elements: [
        { id: first, ...ofFirst, votes: [2, 0, 1], steps: [{ from: begin, ...ofFirst, votes: [2, 0, 1] }] },
        { id: second, ...ofSecond, votes: [0, 1], steps: [{ from: begin + 60, ...ofSecond, votes: [0, 1] }] },
      ],
      retention: {
        step: 60,
        cohorts: [
          { from: begin, people: 2, acted: [2, 1, 0, 0, 0, 1] },
          ...[1, 2, 3, 4, 5].map(at => ({ from: begin + 60 * at, people: 0, acted: Array(6 - at).fill(0) })),
        ],
      },
    });
    const longer = await analyticsOf(world, show.eventId, "?step=300");
    assert.deepEqual(
      longer.steps.map((each: { from: number; people: number; actions: number }) => [
        each.from,
        each.people,
        each.actions,
      ]),
      [
        [begin, 2, 4],
        [begin + 300, 1, 1],
      ],
    );
    assert.deepEqual(longer.retention.cohorts, [
      { from: begin, people: 2, acted: [2, 1] },
      { from: begin + 300, people: 0, acted: [0] },
    ]);
  });

  it("count a person of two processes once, and nothing of another event", async t => {
    let shared: Store | undefined;
    const openShared = async (clock: () => number): Promise<Store> => {
      shared ??= await open(clock);
      return shared;
    };
    const one = await opened(t, openShared);
    const two = await openPlatform(openShared, { seed: votingSeed });
    t.after(() => two.platform.close());
    two.clock.advance(one.world.clock.now() - two.clock.now());
    const id = await one.show.publish(unbounded);
    const { token } = await one.world.fan("Ann");
    const body = { action: "vote", data: { elementId: id, option: 1 } };
    for (const world of [one.world, two, one.world, two]) {
      const { status, text } = await world.call("/api/loyalty/action", { token, body });
      assert.equal(status, 200, text);
      await world.platform.idle();
    }
    const other = await new Show(one.world).write("/events", "POST", {
      data: {
        type: "events",
        attributes: { name: "Other" },
        relationships: { project: { data: { type: "projects", id: ids.project } } },
      },
    });
    const { people, actions, elements } = await analyticsOf(two, one.show.eventId);
    assert.deepEqual([people, actions, elements[0].votes], [1, 4, [4]]);
    assert.equal((await analyticsOf(one.world, other)).actions, 0);
  });

  it("count who listens to the live stream of the event", async t => {
    const { world, show, time } = await opened(t);
    const path = `/events/${show.eventId.slice(0, 2)}/${show.eventId}/live`;
    const request = new Request(`http://club.example${path}`, { headers: { accept: "text/event-stream" } });
    const readers = [request, request].map(async each => {
      const { body } = await world.platform.fetch(each.clone());
      assert.ok(body !== null);
      const reader = new EventReader(body);
      await reader.next();
      return reader;
    });
    const [one, two] = await Promise.all(readers);
    const tick = async (): Promise<void> => {
      world.clock.advance(liveIntervalMs);
      await time.advance(liveIntervalMs);
    };
    const watching = async (): Promise<number> => (await analyticsOf(world, show.eventId)).watching;
    for (let count = 0; count < 3; count++) await tick();
    await until("both are counted", async () => (await watching()) === 2);
    await Promise.all([one?.leave(), two?.leave()]);
    world.clock.advance(30_000);
    await time.advance(liveIntervalMs);
    await until("nobody is counted", async () => (await watching()) === 0);
  });

  it("end with the event", async t => {
    const { world, show } = await opened(t);
    await (await world.fan("Ann")).act("cheer", { eventId: show.eventId });
    assert.equal((await analyticsOf(world, show.eventId)).actions, 1);
    const hour = Math.floor(world.clock.now() / 3_600_000);
    const keys = [`analytics:${show.eventId}`, `analytics:${show.eventId}:${hour}`];
    const stored = () =>
      world.store.read(
        directoryPartition("project", ids.project),
        keys.map(key => ({ type: "record", key }) as const),
      );
    assert.ok((await stored()).every(each => each !== null));
    await show.act("events", show.eventId, "stop");
    const headers = await operatorHeaders(world);
    const removed = await world.call(`/api/v2/events/${show.eventId}`, { method: "DELETE", headers });
    assert.equal(removed.status, 204, removed.text);
    assert.equal((await world.call(`/api/v2/events/${show.eventId}/analytics`, { headers })).status, 404);
    assert.deepEqual(await stored(), [null, null]);
  });

  it("refuse steps that are not whole minutes of a day", async t => {
    const { world, show } = await opened(t);
    const headers = await operatorHeaders(world);
    for (const step of ["0", "61", "90", "86460", "-60", "x", ""]) {
      const { status, json } = await world.call(`/api/v2/events/${show.eventId}/analytics?step=${step}`, {
        headers,
      });
      assert.equal(status, 400, step);
      assert.equal(json.errors[0].source.parameter, "step");
    }
    assert.equal((await analyticsOf(world, show.eventId, "?step=86400")).step, 86_400);
  });
});
