/** Rules that read elements, and reveals that pay the voters of an element. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { type Fan, ids, loyalty, openPlatform, seed } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { Show } from "./_show.ts";

const points = (metricQuantity: unknown) => [{ type: "metric", metricId: "points", metricQuantity }];
const isRight = { eq: [{ var: "element.isRight" }, true] };

const revealSeed = {
  ...seed,
  loyalty: {
    [ids.space]: {
      ...loyalty,
      actions: [
        ...loyalty.actions,
        { name: "vote", clientReportable: true, data: { elementId: "string", option: "number" } },
      ],
      rules: [
        ...loyalty.rules,
        {
          id: "answer",
          trigger: { action: "vote" },
          when: isRight,
          effects: points({ var: "element.points" }),
        },
        {
          id: "wrong",
          trigger: { action: "vote" },
          when: { ne: [{ var: "element.isRight" }, true] },
          limits: [{ per: "user", by: { var: "data.elementId" }, max: 1 }],
          effects: points(1),
        },
        {
          id: "fast",
          trigger: { action: "vote" },
          when: {
            all: [{ eq: [{ var: "element.type" }, "poll"] }, { lte: [{ var: "element.seconds" }, 5] }],
          },
          effects: points(100),
        },
      ],
      challenges: [
        {
          id: "0e000000-0000-4000-8000-0000000000aa",
          title: "Two right answers",
          missions: [
            {
              id: "0f000000-0000-4000-8000-0000000000aa",
              title: "Two right answers",
              rule: { action: "vote", when: isRight, count: 2 },
            },
          ],
          rewards: [{ type: "metric", metricId: "points", metricQuantity: 1_000 }],
        },
      ],
    },
  },
};

const quiz = {
  content_type: "quiz",
  correct_option: 2,
  custom_fields: [{ key: "points", values: { all: 20 } }],
};

describeOnStores("reveals", open => {
  async function opened(t: TestContext) {
    const world = await openPlatform(open, { seed: revealSeed });
    t.after(() => world.dispose());
    const show = new Show(world);
    await show.start();
    const [ann, ben] = [await world.fan("Ann"), await world.fan("Ben")];
    /** Does what is due, until nothing is. */
    const settle = async (): Promise<void> => {
      await world.platform.idle();
      for (const _ of "12") {
        world.clock.advance(11_000);
        await world.platform.work();
        await world.platform.idle();
      }
    };
    const pointsOf = async (...fans: readonly Fan[]): Promise<readonly number[]> =>
      await Promise.all(fans.map(async fan => (await fan.profile()).metrics.points ?? 0));
    return { world, show, ann, ben, settle, pointsOf };
  }
  const vote = async (fan: Fan, elementId: string, option: number): Promise<void> => {
    const { status, text } = await fan.act("vote", { elementId, option });
    assert.equal(status, 200, text);
  };

  it("pay a quiz with the vote where the vote tells the answer", async t => {
    const { world, show, ann, ben, pointsOf, settle } = await opened(t);
    const id = await show.publish({ ...quiz, reveal_answer_on_vote: true });
    await vote(ann, id, 2);
    await vote(ben, id, 1);
    assert.deepEqual(await pointsOf(ann, ben), [20, 1]);
    await show.act("elements", id, "reveal_answer");
    await settle();
    assert.deepEqual(await pointsOf(ann, ben), [20, 1], "and no reveal pays it again");
    const { json } = await world.call("/api/loyalty/history", { token: ann.token });
    assert.equal(json.data.length, 1);
  });

  it("pay nobody again who learnt the answer with one of several votes", async t => {
    const { show, ann, pointsOf, settle } = await opened(t);
    const several = { max_votes_per_user: 2, max_votes_per_option: 2, reveal_answer_on_vote: true };
    const id = await show.publish({ ...quiz, ...several, correct_option: null });
    await vote(ann, id, 2);
    await show.write(`/elements/${id}`, "PATCH", {
      data: { type: "elements", id, attributes: { correct_option: 2 } },
    });
    await vote(ann, id, 2);
    await show.act("elements", id, "reveal_answer");
    await settle();
    assert.deepEqual(await pointsOf(ann), [20]);
  });

  it("pay a quiz at the reveal, and nobody learns the answer before", async t => {
    const { show, ann, ben, pointsOf, settle } = await opened(t);
    const id = await show.publish(quiz);
    await vote(ann, id, 2);
    await vote(ben, id, 1);
    await settle();
    assert.deepEqual(await pointsOf(ann, ben), [0, 0]);
    await show.act("elements", id, "reveal_answer");
    await settle();
    assert.deepEqual(await pointsOf(ann, ben), [20, 1]);
  });

  it("pay by the clock where the answer is shown by it", async t => {
    const { show, ann, ben, pointsOf, settle, world } = await opened(t);
    const id = await show.publish({
      ...quiz,
      duration: 60,
      reveal_answer_mode: "auto",
      reveal_answer_in: 30,
    });
    await vote(ann, id, 2);
    await vote(ben, id, 3);
    world.clock.advance(60_000);
    await settle();
    assert.deepEqual(await pointsOf(ann, ben), [0, 0]);
    world.clock.advance(60_000);
    await settle();
    assert.deepEqual(await pointsOf(ann, ben), [20, 1]);
  });

  it("pay a prediction whose right option is named with the reveal, and advance missions", async t => {
    const { show, ann, ben, pointsOf, settle } = await opened(t);
    const prediction = { ...quiz, content_type: "prediction", correct_option: null };
    const [first, second] = [await show.publish(prediction), await show.publish(prediction)];
    for (const id of [first, second]) {
      await vote(ann, id, 3);
      await vote(ben, id, 1);
      await show.act("elements", id, "stop");
    }
    await show.act("elements", first, "reveal_answer", { correct_option: 3 });
    await settle();
    assert.deepEqual(await pointsOf(ann, ben), [20, 1]);
    await show.act("elements", second, "reveal_answer", { correct_option: 3 });
    await settle();
    assert.deepEqual(await pointsOf(ann, ben), [1_040, 2]);
  });

  it("take back what a changed answer paid, and what a revoked element paid, once", async t => {
    const { show, ann, ben, pointsOf, settle, world } = await opened(t);
    const id = await show.publish(quiz);
    await vote(ann, id, 2);
    await vote(ben, id, 1);
    await show.act("elements", id, "reveal_answer");
    await settle();
    assert.deepEqual(await pointsOf(ann, ben), [20, 1]);
    await show.write(`/elements/${id}`, "PATCH", {
      data: { type: "elements", id, attributes: { correct_option: 1 } },
    });
    await settle();
    assert.deepEqual(await pointsOf(ann, ben), [1, 20]);
    await show.act("elements", id, "revoke");
    for (const _ of "12") await settle();
    assert.deepEqual(await pointsOf(ann, ben), [0, 0]);
    for (const { userId } of [ann, ben]) {
      const user = { organisationId: ids.organisation, spaceId: ids.space, projectId: null, userId };
      const { loyalty } = world.platform;
      assert.equal((await loyalty.reconcile(user)).ok, true);
      assert.deepEqual((await loyalty.replay(user)).differences, []);
    }
  });

  it("read the type of an element and the time of the vote", async t => {
    const { show, ann, ben, pointsOf, world } = await opened(t);
    const id = await show.publish();
    world.clock.advance(4_000);
    await vote(ann, id, 1);
    world.clock.advance(4_000);
    await vote(ben, id, 1);
    assert.deepEqual(await pointsOf(ann, ben), [100, 0]);
  });

  it("pay the account that a voter was merged into, before or after the reveal", async t => {
    const { show, ann, ben, pointsOf, settle, world } = await opened(t);
    const user = ({ userId }: Fan) => ({
      ...{ organisationId: ids.organisation, spaceId: ids.space },
      ...{ projectId: ids.project, userId },
    });
    const [before, after] = [await show.publish(quiz), await show.publish(quiz)];
    for (const id of [before, after]) await vote(ann, id, 2);
    await show.act("elements", before, "reveal_answer");
    await settle();
    await world.platform.loyalty.merge(user(ann), user(ben));
    await show.act("elements", after, "reveal_answer");
    await settle();
    const own = (sum: number) => sum - 1_000 * Number(sum >= 1_000);
    assert.deepEqual((await pointsOf(ben)).map(own), [40]);
    for (const id of [before, after]) await show.act("elements", id, "revoke");
    await settle();
    assert.deepEqual((await pointsOf(ben)).map(own), [0]);
  });
});
