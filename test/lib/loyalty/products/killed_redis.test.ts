/**
 * A limited product on a Redis that is killed and started again while two processes sell it: at no instant is more promised than
 * there is, even before anything interrupted is finished.
 */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRedisStore } from "../../../../adapters/redis/mod.ts";
import { AppError } from "../../../../lib/errors/mod.ts";
import { redemptionId } from "../../../../lib/loyalty/products/redemptions.ts";
import { parseRedemption, readRedemption } from "../../../../lib/loyalty/products/steps.ts";
import { type SpaceUser, spaceUserPartition } from "../../../../lib/loyalty/user/space_user.ts";
import type { Platform } from "../../../../lib/mod.ts";
import { sampleSize } from "../../../support/full.ts";
import { openProcesses, type Processes } from "../../../support/processes.ts";
import { redisAvailable, startRedis } from "../../../support/redis.ts";
import { until } from "../../../support/until.ts";
import { buyer, fund, products, shopDocument } from "./_shop.ts";

const kills = sampleSize(8, 3);
const usersPerKill = 40;
const endedBeforeKill = 15;
/** As many as there are users who stay although the server fails. */
const quantity = (kills * usersPerKill) / 2;
const price = 10;
const scarf = { ...products.scarf, stock: { type: "limited", quantity } };
const order = { key: "one", productId: "scarf", quantity: 1 } as const;
const buyersAtATime = 16;
const users = Array.from({ length: kills * usersPerKill }, (_, index) => buyer(index + 1));
const dueMs = 3_700_000;

/** The guide's settings: every write is on disk before it is acknowledged. */
const durable = ["--appendonly", "yes", "--appendfsync", "always"];

/** Buys a scarf; undefined where the server failed meanwhile. */
async function buy(platform: Platform, user: SpaceUser): Promise<"bought" | "sold out" | undefined> {
  try {
    await platform.loyalty.products.redeem(user, order);
    return "bought";
  } catch (error) {
    assert.ok(error instanceof AppError, String(error));
    if (error.code === "out_of_stock") return "sold out";
    assert.ok(["storage_unavailable", "outcome_unknown"].includes(error.code), String(error));
    return undefined;
  }
}

/** Buyers of two processes, and whom the answers or the store ever promised a scarf. */
class Sale {
  readonly promised = new Set<SpaceUser>();
  failures = 0;
  readonly #platforms: readonly Platform[];

  constructor(platforms: readonly Platform[]) {
    this.#platforms = platforms;
  }

  /** Lets the users buy, and calls `meanwhile` once some have ended. */
  async serve(waiting: SpaceUser[], meanwhile: () => Promise<void>): Promise<void> {
    let ended = 0;
    let disturbed: Promise<void> | undefined;
    const serveNext = async (): Promise<void> => {
      for (let user = waiting.pop(); user !== undefined; user = waiting.pop()) {
        await this.#serveOne(user);
        ended += 1;
        if (ended === endedBeforeKill) disturbed = meanwhile();
      }
    };
    await Promise.all(Array.from({ length: buyersAtATime }, serveNext));
    await disturbed;
  }

  /** Lets a user buy; every other one leaves when the server fails. */
  async #serveOne(user: SpaceUser): Promise<void> {
    const isPatient = users.indexOf(user) % 2 === 0;
    for (;;) {
      // A failure lets the next try go to the other process.
      const outcome = await buy(this.#platforms[this.failures % this.#platforms.length] as Platform, user);
      if (outcome === "bought") this.promised.add(user);
      if (outcome !== undefined) return;
      this.failures += 1;
      if (!isPatient) return;
      await new Promise(resolve => setImmediate(resolve));
    }
  }

  /** Reads what is promised, which finishes nothing, and asserts that no promise is gone and that there are no more than scarves. */
  async verify({ store }: Processes): Promise<void> {
    const before = new Set(this.promised);
    for (const user of users) {
      const [stored] = await store.read(spaceUserPartition(user), [
        readRedemption(redemptionId(user, order.key)),
      ]);
      if (stored !== null && parseRedemption(stored).status === "pending") this.promised.add(user);
      else assert.ok(!before.has(user), `the promise to ${user.userId} is gone`);
    }
    assert.ok(this.promised.size <= quantity, `${this.promised.size} of ${quantity} are promised`);
  }
}

describe("a limited product whose Redis is killed", { skip: redisAvailable() }, () => {
  it("is never promised to more users than there are units, and all of it is sold", async () => {
    await using server = await startRedis({ args: durable });
    await using shop = await openProcesses(
      async clock => createRedisStore({ server: server.url, clock }),
      shopDocument([scarf]),
    );
    await using second = createRedisStore({ server: server.url, clock: shop.clock.now });
    const platforms = [await shop.process(), await shop.process(second)];
    const [platform] = platforms as [Platform];
    for (const user of users) await fund(platform, user, { points: price });

    const sale = new Sale(platforms);
    for (let kill = 1; kill <= kills; kill++) {
      const round = users.slice((kill - 1) * usersPerKill, kill * usersPerKill);
      await sale.serve(round, async () => {
        await server.kill();
        // Started again at once, most purchases go on; later, their buyers have been told of a failure.
        const failures = kill % 2 === 0 ? 0 : sale.failures + 1;
        await until("purchases fail", () => sale.failures >= failures);
        await server.launch();
        await sale.verify(shop);
      });
      await sale.verify(shop);
    }

    shop.clock.advance(dueMs);
    await platform.loyalty.sweep();
    await sale.verify(shop);
    assert.equal(sale.promised.size, quantity);
    for (const user of users) {
      const { metrics } = await platform.loyalty.profile(user);
      assert.equal(metrics.points, sale.promised.has(user) ? 0 : price, user.userId);
    }
  });
});
