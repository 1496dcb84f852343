/** Processes that die while they count votes or pay a reveal: others bring it to the end that it would have had. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { registrationMs } from "../../../../lib/fans/loyalty/due_users.ts";
import { createPlatform, type Platform, silentLogger } from "../../../../lib/mod.ts";
import type { Store } from "../../../../lib/storage/mod.ts";
import { question, Show } from "../../../http/_show.ts";
import { createDyingStore, type Death, moments } from "../../../support/dying_store.ts";
import { isLongRun } from "../../../support/full.ts";
import {
  ids,
  loyalty,
  openPlatform,
  seed,
  type TestPlatform,
  testSecret,
} from "../../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../../support/stores.ts";

const voting = {
  ...seed,
  loyalty: {
    [ids.space]: {
      ...loyalty,
      actions: [...loyalty.actions, { name: "vote", clientReportable: true }],
      rules: [
        {
          id: "answer",
          trigger: { action: "vote" },
          when: { eq: [{ var: "element.isRight" }, true] },
          effects: [{ type: "metric", metricId: "points", metricQuantity: { var: "element.points" } }],
        },
      ],
    },
  },
};
const quiz = { question, correct_option: 2, custom_fields: [{ key: "points", values: { all: 20 } }] };

/** Three fans, of whom the first two are right. */
const fans = [2, 2, 1].map((option, n) => ({
  option,
  user: {
    ...{ organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project },
    userId: `${n}1111111-1111-4111-8111-111111111111`,
  },
}));

interface World {
  readonly calm: TestPlatform;
  readonly show: Show;
  readonly elementId: string;
}

async function openWorld(open: OpenStore): Promise<World> {
  const calm = await openPlatform(open, { seed: voting });
  const show = new Show(calm);
  await show.start();
  return { calm, show, elementId: await show.publish(quiz) };
}

async function vote(platform: Platform, elementId: string): Promise<void> {
  for (const { user, option } of fans) {
    const report = { action: "vote", actionId: "v", data: { elementId, option }, isClientReport: true };
    await platform.loyalty.report(user, report);
  }
  await platform.idle();
}

async function work(platform: Platform): Promise<void> {
  await platform.work();
  await platform.idle();
}

/** Votes and pays in a process that may die, and goes on in one that does not. Returns the number of operations. */
async function play({ calm, show, elementId }: World, death: Death | null): Promise<number> {
  const dying = createDyingStore(calm.store);
  const process = await processOver(dying, calm);
  dying.dieAt(death ?? { at: Number.POSITIVE_INFINITY, when: "before" });
  await vote(process, elementId).catch(() => {});
  await vote(calm.platform, elementId);
  await show.act("elements", elementId, "reveal_answer");
  calm.clock.advance(11_000);
  await work(process).catch(() => {});
  for (let n = 0; n < 3; n++) {
    calm.clock.advance(registrationMs);
    await work(calm.platform);
  }
  return dying.operations;
}

function processOver(store: Store, { clock }: TestPlatform): Promise<Platform> {
  return createPlatform({
    ...{ store, secret: testSecret, logger: silentLogger, limiter: "off" },
    ...{ clock: clock.now, defaultSpaceId: ids.space },
  });
}

/** Returns the points of the fans, each with the number of payments. */
async function paid({ calm }: World): Promise<unknown> {
  const { loyalty: of } = calm.platform;
  return await Promise.all(
    fans.map(async ({ user }) => [
      (await of.profile(user)).metrics.points,
      (await of.history(user, {})).length,
      (await of.replay(user)).differences,
    ]),
  );
}

const expected = [
  [20, 1, []],
  [20, 1, []],
  [0, 0, []],
];

describeOnStores("a process that dies while it counts votes or pays a reveal", open => {
  it("leaves each right vote paid once", async () => {
    const first = await openWorld(open);
    const operations = await play(first, null);
    assert.deepEqual(await paid(first), expected);
    await first.calm.dispose();
    for (let at = 0; at < operations; at += isLongRun ? 3 : 9) {
      for (const when of moments) {
        const world = await openWorld(open);
        await play(world, { at, when });
        assert.deepEqual(await paid(world), expected, `died ${when} operation ${at} of ${operations}`);
        await world.calm.dispose();
      }
    }
  });

  it("takes back a changed answer once, whenever it dies", async () => {
    const change = async (world: World, death: Death | null): Promise<number> => {
      const { calm, show, elementId } = world;
      await play(world, null);
      await show.write(`/elements/${elementId}`, "PATCH", {
        data: { type: "elements", id: elementId, attributes: { correct_option: 1 } },
      });
      const dying = createDyingStore(calm.store);
      const process = await processOver(dying, calm);
      dying.dieAt(death ?? { at: Number.POSITIVE_INFINITY, when: "before" });
      calm.clock.advance(11_000);
      await work(process).catch(() => {});
      calm.clock.advance(registrationMs);
      for (const _ of "12") await work(calm.platform);
      return dying.operations;
    };
    const turned = [
      [0, 2, []],
      [0, 2, []],
      [20, 1, []],
    ];
    const first = await openWorld(open);
    const operations = await change(first, null);
    assert.deepEqual(await paid(first), turned);
    await first.calm.dispose();
    for (let at = 0; at < operations; at += isLongRun ? 3 : 9) {
      const world = await openWorld(open);
      await change(world, { at, when: at % 4 === 0 ? "before" : "after" });
      assert.deepEqual(await paid(world), turned, `died at operation ${at} of ${operations}`);
      await world.calm.dispose();
    }
  });
});
