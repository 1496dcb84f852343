import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../lib/base/errors/mod.ts";
import { compileConfig } from "../../lib/fans/loyalty/mod.ts";
import { type Fan, ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

const minuteMs = 60_000;
const shortLived = {
  ...seed,
  loyalty: { [ids.space]: { ...loyalty, notifications: { keepFor: { minutes: 30 } } } },
};

describeOnStores("the notifications of a user", open => {
  async function withFan(body: (world: TestPlatform, fan: Fan) => Promise<void>): Promise<void> {
    const world = await openPlatform(open, { seed: shortLived });
    try {
      await body(world, await world.fan("Sam"));
    } finally {
      await world.dispose();
    }
  }

  const shown = ({ client }: Fan) => client.loyalty.listLoyaltyNotifications();

  it("are shown while they are unread, oldest first, as the loyalty API has them", () =>
    withFan(async (world, fan) => {
      for (const outcome of ["exact", "right", "right"]) await fan.act("prediction", { outcome });
      const [first, second, ...others] = await shown(fan);
      assert.deepEqual([first?.title, second?.title, others.length], ["Exact!", "Oracle!", 0]);
      assert.deepEqual(Object.keys(first ?? {}).sort(), [
        "display",
        "id",
        "message",
        "payload",
        "timestamp",
        "title",
        "type",
      ]);
      assert.equal(first?.timestamp, Math.floor(world.clock.now() / 1_000));
      const member = {
        organisationId: ids.organisation,
        spaceId: ids.space,
        userId: fan.userId,
        projectId: ids.project,
      };
      const { inbox } = world.platform.loyalty;
      await inbox.markRead(member, first?.id ?? "");
      assert.deepEqual(await shown(fan), [second]);
      await inbox.markRead(member, second?.id ?? "");
      assert.deepEqual(await shown(fan), []);
      assert.equal((await inbox.list(member)).items.length, 2);
    }));

  it("are gone when the time is over that the configuration keeps them for", () =>
    withFan(async (world, fan) => {
      await fan.act("prediction", { outcome: "exact" });
      world.clock.advance(30 * minuteMs - 1);
      assert.equal((await shown(fan)).length, 1);
      world.clock.advance(1);
      assert.deepEqual(await shown(fan), []);
    }));
});

describe("how long notifications are kept", () => {
  it("is 30 days unless the configuration says otherwise", () => {
    assert.deepEqual(compileConfig({}).config.notifications, { keepFor: { days: 30 } });
    assert.deepEqual(compileConfig({ notifications: {} }).config.notifications.keepFor, { days: 30 });
  });

  it("is a duration", () => {
    for (const keepFor of [{}, { days: 0 }, { days: -1 }, 7, { eons: 1 }]) {
      assert.throws(
        () => compileConfig({ notifications: { keepFor } }),
        (error: unknown) =>
          error instanceof AppError &&
          error.fields?.every(({ pointer }) => pointer.startsWith("/notifications/keepFor")) === true,
        JSON.stringify(keepFor),
      );
    }
  });
});
