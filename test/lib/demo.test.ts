import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { parse } from "yaml";
import { systemRandom } from "../../lib/auth/crypto/mod.ts";
import { compileConfig } from "../../lib/fans/loyalty/mod.ts";
import { describeDemo, seedDemo } from "../../lib/mod.ts";
import { demoCodes, demoCodesCount, demoLoyalty } from "../../lib/platform/demo.ts";
import { openPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

const example = readFileSync(new URL("../runtime/examples/loyalty.yaml", import.meta.url), "utf8");
const guide = readFileSync(new URL("../../lib/fans/loyalty/config/README.md", import.meta.url), "utf8");
const dayMs = 86_400_000;

it("The loyalty configuration of the demo is the example of its guide, and it is valid", () => {
  assert.deepEqual(parse(example), demoLoyalty);
  assert.ok(compileConfig(demoLoyalty).actions.has("prediction"));
  const [, shown] = guide.match(/^```yaml\n(timeZone:[\s\S]*?)^```/m) ?? [];
  assert.equal(shown, example);
});

it("The codes of the demo are different ones", () => {
  assert.equal(new Set(demoCodes(systemRandom)).size, demoCodesCount);
});

describeOnStores("the demo", open => {
  async function opened(t: { after(close: () => unknown): void }) {
    const seed = { organisations: [], spaces: [], projects: [], events: [] };
    let ids: Awaited<ReturnType<typeof seedDemo>> | undefined;
    const world = await openPlatform(
      async clock => {
        const store = await open(clock);
        ids = await seedDemo({ store, random: systemRandom, clock });
        return store;
      },
      { seed, startAt: Date.parse("2026-06-01T10:00:00Z") },
    );
    assert.ok(ids !== undefined);
    const { platform, clock } = world;
    t.after(() => world.dispose());
    const demo = await describeDemo(platform, { ids, baseUrl: "http://demo.example" });
    return { demo, clock, platform };
  }

  it("shows lots, a ladder, a daily challenge, a streak, a coupon with a code and a weekly board", async t => {
    const { demo, platform, clock } = await opened(t);
    const { organisationId, spaceId, projectId, eventId } = demo;
    const member = { organisationId, spaceId, projectId, userId: "fan" };
    for (let day = 0; day < 3; day++) {
      for (let n = 0; n < 3; n++) {
        const data = { eventId, matchId: `${day}-${n}` };
        await platform.loyalty.report(member, { action: "prediction", data, isClientReport: true });
        const outcome = { action: "outcome", data: { ...data, outcome: "exact" }, isClientReport: false };
        await platform.loyalty.report(member, outcome);
      }
      clock.advance(dayMs);
    }
    const profile = await platform.loyalty.profile(member);
    // 9 exact scores, the first one's challenge, three days' challenges, and a streak of three days.
    assert.equal(profile.metrics.points, 9 * 3 + 10 + 3 * 5 + 3);
    assert.deepEqual([...(profile.inventory.badges ?? [])].sort(), ["oracle", "regular"]);
    const types = new Set(
      (await platform.loyalty.history(member, {})).map(({ type }: { readonly type: string }) => type),
    );
    for (const type of ["milestoneReached", "challengeCompleted", "couponReceived"]) {
      assert.ok(types.has(type), `${type} in ${[...types].join()}`);
    }
    await platform.idle();
    const board = await platform.fetch(
      new Request(`http://demo.example/projects/${projectId}/leaderboards/weekly`),
    );
    const { data, meta } = (await board.json()) as {
      data: readonly { readonly score: number }[];
      meta: { readonly season: object };
    };
    assert.equal(data[0]?.score, 55);
    assert.ok(meta.season);
    const stats = await platform.loyalty.codePools.stats({ organisationId, spaceId, poolId: "shop" });
    assert.equal(stats.total, demoCodesCount);
    clock.advance(400 * dayMs);
    assert.equal((await platform.loyalty.profile(member)).metrics.points, 0);
  });

  it("gives a fan nothing for outcomes of the fan's own, and one outcome a match", async t => {
    const { demo, platform } = await opened(t);
    const { organisationId, spaceId, projectId, eventId } = demo;
    const member = { organisationId, spaceId, projectId, userId: "farmer" };
    const data = { eventId, matchId: "1", outcome: "exact" };
    const outcome = (isClientReport: boolean) =>
      platform.loyalty.report(member, { action: "outcome", data, isClientReport });
    await assert.rejects(outcome(true), { code: "forbidden" });
    for (let n = 0; n < 121; n++) {
      const report = { action: "prediction", data: { eventId, matchId: `${n}` }, isClientReport: true };
      await platform.loyalty.report(member, report);
    }
    assert.equal((await platform.loyalty.profile(member)).metrics.points, 5, "three matches of the day");
    for (const _ of "123") await outcome(false);
    assert.equal((await platform.loyalty.profile(member)).metrics.points, 5 + 3 + 10);
  });

  it("pays polls, quizzes and predictions without a back end", async t => {
    const { demo, platform, clock } = await opened(t);
    const { organisationId, spaceId, projectId, baseUrl, operatorToken } = demo;
    const member = { organisationId, spaceId, projectId, userId: "voter" };
    const headers = { authorization: `Bearer ${operatorToken}`, "content-type": "application/vnd.api+json" };
    const write = async (method: string, path: string, data: object): Promise<string> => {
      const request = { method, headers, body: JSON.stringify({ data }) };
      const answer = await platform.fetch(new Request(`${baseUrl}/api/v2${path}`, request));
      assert.ok(answer.status < 300, String(answer.status));
      return answer.status === 204 ? "" : (await answer.json()).data.id;
    };
    const change = (type: string, id: string, attributes: object) =>
      write("PATCH", `/${type}/${id}`, { type, id, attributes });
    const project = { data: { type: "projects", id: projectId } };
    const show = { type: "events", attributes: { name: "Show", duration: 900 }, relationships: { project } };
    const eventId = await write("POST", "/events", show);
    await change("events", eventId, { action: "start" });
    const relationships = { event: { data: { type: "events", id: eventId } } };
    const text = (key: string, all: string) => ({ fields: [{ key, values: { all } }] });
    const question = { ...text("question", "Who?"), options: [text("text", "Us"), text("text", "Them")] };
    const points = async () => (await platform.loyalty.profile(member)).metrics.points;
    const elements = [
      { content_type: "poll" },
      { content_type: "quiz", custom_fields: [{ key: "points", values: { all: 20 } }], correct_option: 1 },
      { content_type: "prediction" },
    ];
    const ids: string[] = [];
    for (const attributes of elements) {
      const all = { ...attributes, question, action: "publish" };
      const elementId = await write("POST", "/elements", {
        type: "elements",
        attributes: all,
        relationships,
      });
      ids.push(elementId);
      const report = { action: "vote", data: { elementId, option: "1" }, isClientReport: true };
      await platform.loyalty.report(member, report);
    }
    assert.equal(await points(), 1);
    const [, quiz = "", prediction = ""] = ids;
    await change("elements", quiz, { action: "reveal_answer" });
    await change("elements", prediction, { action: "reveal_answer", correct_option: 1 });
    await platform.idle();
    clock.advance(60_000);
    await platform.work();
    await platform.idle();
    assert.equal(await points(), 1 + 20 + 1);
  });

  it("limits what sharing earns in a day", async t => {
    const { demo, platform, clock } = await opened(t);
    const { organisationId, spaceId, projectId } = demo;
    const member = { organisationId, spaceId, projectId, userId: "sharer" };
    const share = () => platform.loyalty.report(member, { action: "share", data: {}, isClientReport: true });
    for (let n = 0; n < 5; n++) await share();
    assert.equal((await platform.loyalty.profile(member)).metrics.points, 3);
    clock.advance(dayMs);
    await share();
    assert.equal((await platform.loyalty.profile(member)).metrics.points, 4);
  });

  it("has a project that uses the catalogue in two languages", async t => {
    const { demo, platform } = await opened(t);
    const headers = { authorization: `Bearer ${demo.operatorToken}` };
    const read = async (path: string) => {
      const url = `${demo.baseUrl}/api/v2/projects/${demo.projectId}${path}`;
      return await (await platform.fetch(new Request(url, { headers }))).json();
    };
    const project = (await read("?include=app")) as {
      data: { attributes: { locales: readonly string[] } };
      included: { attributes: { spec_id: string } }[];
    };
    assert.deepEqual(project.data.attributes.locales, ["en", "de"]);
    assert.deepEqual(
      project.included.map(({ attributes }) => attributes.spec_id),
      ["catalogue"],
    );
    const types = (await read("/content_types")) as { data: { id: string }[] };
    assert.equal(types.data.length, 13);
  });
});
