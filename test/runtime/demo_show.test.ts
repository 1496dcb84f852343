/** The show that runs by itself in the demo. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { systemRandom } from "../../lib/auth/crypto/mod.ts";
import { describeDemo, seedDemo } from "../../lib/mod.ts";
import { DemoShow } from "../../runtime/services/demo_show.ts";
import { openPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

const stepMs = 1_000;
const showMs = 600_000;

describeOnStores("the show of the demo", open => {
  async function opened(t: { after(close: () => unknown): void }) {
    let ids: Awaited<ReturnType<typeof seedDemo>> | undefined;
    const world = await openPlatform(
      async clock => {
        const store = await open(clock);
        ids = await seedDemo({ store, random: systemRandom, clock });
        return store;
      },
      { seed: { organisations: [], spaces: [], projects: [], events: [] } },
    );
    t.after(() => world.dispose());
    assert.ok(ids !== undefined);
    const { platform, clock, store } = world;
    const demo = await describeDemo(platform, { ids, baseUrl: "http://demo.example" });
    const { projectId, eventId, operatorToken } = demo;
    assert.ok(operatorToken !== null);
    let seed = 1;
    const chance = (): number => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const options = { store, ids, url: demo.baseUrl, token: operatorToken, clock: clock.now, chance };
    const read = async (path: string) =>
      await (await platform.fetch(new Request(`${demo.baseUrl}${path}`))).json();
    return {
      newShow: () => new DemoShow(platform, options),
      platform,
      async run(show: DemoShow, ms: number) {
        for (let passed = 0; passed < ms; passed += stepMs) {
          await show.work();
          clock.advance(stepMs);
          if (passed % 30_000 === 0) await platform.work();
        }
        await platform.idle();
      },
      timeline: async (): Promise<Item[]> =>
        (await read(`/events/${eventId.slice(0, 2)}/${eventId}/history.json`)).timeline,
      stats: () => read(`/events/${eventId.slice(0, 2)}/${eventId}/livestats.json`),
      board: async () => (await read(`/projects/${projectId}/leaderboards/overall`)).data as Entry[],
      stop: () =>
        platform.fetch(
          new Request(`${demo.baseUrl}/api/v2/events/${eventId}`, {
            method: "PATCH",
            headers: { authorization: `Bearer ${operatorToken}`, "content-type": "application/vnd.api+json" },
            body: JSON.stringify({ data: { type: "events", id: eventId, attributes: { action: "stop" } } }),
          }),
        ),
    };
  }
  interface Item {
    readonly id: string;
    readonly content_type: string;
    readonly state: string;
    readonly correct_option?: number;
  }
  interface Entry {
    readonly score: number;
    readonly publicProfile: { readonly username: string };
  }

  it("publishes, closes and reveals in ten minutes, while fans vote and climb the board, and begins again", async t => {
    const { newShow, run, timeline, stats, board } = await opened(t);
    const show = newShow();
    await run(show, 12_000);
    assert.deepEqual(
      (await timeline()).map(({ content_type: type, state }) => [type, state]),
      [
        ["message", "current"],
        ["poll", "current"],
      ],
    );
    await run(show, 100_000);
    const quiz = (await timeline()).find(({ content_type: type }) => type === "quiz");
    assert.deepEqual([quiz?.state, quiz?.correct_option], ["past", 2]);
    await run(show, showMs - 112_000);
    const first = await timeline();
    assert.equal(first.length, 12);
    assert.equal(first.find(({ content_type: type }) => type === "prediction")?.correct_option, 2);
    const counted = new Map<string, number>();
    for (const { id, actions } of (await stats()).elements) counted.set(id, actions);
    const voted = first.filter(({ id }) => (counted.get(id) ?? 0) > 0).map(({ content_type: type }) => type);
    assert.deepEqual(voted, ["poll", "quiz", "cheer", "prediction", "rating", "poll", "ask", "quiz"]);
    const entries = await board();
    assert.equal(entries.length, 7);
    assert.ok(
      entries.every(({ score }) => score >= 2) && (entries[0]?.score ?? 0) > 20,
      JSON.stringify(entries),
    );
    await run(show, 12_000);
    const second = await timeline();
    assert.deepEqual(
      second.map(({ content_type: type }) => type),
      ["message", "poll"],
    );
    assert.ok(second.every(({ id }) => first.every(each => each.id !== id)));
    assert.equal((await board()).length, 7, "the fans are the same");
  });

  it("is one show for all processes, and ends with the event", async t => {
    const { newShow, run, timeline, stop } = await opened(t);
    const [one, other] = [newShow(), newShow()];
    await run(one, 12_000);
    const before = await timeline();
    await run(other, 3_000);
    assert.deepEqual(await timeline(), before);
    await stop();
    await run(one, showMs);
    assert.ok((await timeline()).every(({ state }) => state === "past"));
  });
});
