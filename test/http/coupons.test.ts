import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Permission } from "../../lib/auth/mod.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import type { WebhookMessage } from "../../lib/base/outbound/outbound.ts";
import { codesAddedMax } from "../../lib/fans/loyalty/coupons/code_pools.ts";
import { couponRetryMs } from "../../lib/fans/loyalty/coupons/coupons.ts";
import type { SpaceUser } from "../../lib/fans/loyalty/mod.ts";
import { idempotencyMs } from "../../lib/http/idempotency/idempotency.ts";
import type { LogFields } from "../../lib/http/logger.ts";
import {
  type Answer,
  type Fan,
  ids,
  loyalty,
  openPlatform,
  seed,
  type TestPlatform,
} from "../support/platform.ts";
import { ProbeStore } from "../support/probe_store.ts";
import { describeOnStores } from "../support/stores.ts";
import { assertProblem } from "./_problem.ts";

const couponsFilledMax = 50;

const hourMs = 60 * 60 * 1_000;
const pool = { organisationId: ids.organisation, spaceId: ids.space, poolId: "drinks" };

/** The common configuration with a shared coupon and one that lasts half an hour. */
const withCoupons = {
  ...seed,
  loyalty: {
    [ids.space]: {
      ...loyalty,
      coupons: [
        ...loyalty.coupons,
        { id: "shirt", title: "10% off", type: "shared", code: "TEN", showOnNotification: true },
        { id: "snack", title: "Snack", type: "unique", poolId: "drinks", expiresAfter: { minutes: 30 } },
      ],
      actions: [
        ...loyalty.actions,
        { name: "shop", clientReportable: true },
        { name: "eat", clientReportable: true },
      ],
      rules: [
        ...loyalty.rules,
        { id: "shop", trigger: { action: "shop" }, effects: [{ type: "coupon", couponId: "shirt" }] },
        { id: "eat", trigger: { action: "eat" }, effects: [{ type: "coupon", couponId: "snack" }] },
      ],
      products: [
        {
          id: "drink",
          title: "Drink",
          prices: [{ currency: "points", amount: 1 }],
          fulfilment: { type: "coupon", couponId: "drink" },
        },
      ],
      webhooks: [{ id: "crm", url: "https://crm.example/events", events: ["codePoolLow", "codePoolEmpty"] }],
    },
  },
};

const numbered = (count: number): string[] => Array.from({ length: count }, (_, n) => `D-${n}`);

function couponOf(world: TestPlatform, fan: Pick<Fan, "token">, id: string): Promise<Answer> {
  return world.call(`/api/loyalty/coupons/${id}`, { token: fan.token });
}

async function codeOf(world: TestPlatform, fan: Fan, id = "drink"): Promise<string> {
  return (await couponOf(world, fan, id)).json.data.coupon_code;
}

/** Ids of the user's own coupons, in the order in which they were received. */
async function ownIds(world: TestPlatform, fan: Fan): Promise<string[]> {
  const { json } = await world.call("/api/loyalty/history", { token: fan.token });
  return json.data.flatMap(
    ({ payload }: { payload: { userCouponId?: string } }) => payload.userCouponId ?? [],
  );
}

const memberOf = ({ userId }: Fan): SpaceUser => ({
  organisationId: ids.organisation,
  spaceId: ids.space,
  userId,
  projectId: ids.project,
});

describeOnStores("a user's coupon", open => {
  let world: TestPlatform;
  let delivered: WebhookMessage[];
  let logged: [event: string, fields: LogFields][];
  beforeEach(async () => {
    delivered = [];
    logged = [];
    world = await openPlatform(open, {
      seed: withCoupons,
      logger: { enabled: () => true, log: (_, event, fields) => void logged.push([event, fields]) },
      webhooks: { send: async message => void delivered.push(message) },
    });
  });
  const warnings = (): unknown[] =>
    logged.flatMap(([event, { available, total }]) =>
      event.startsWith("code_pool") ? [[event, available, total]] : [],
    );
  /** Scans a code at the till and returns what comes of it. */
  async function scanned(code: string): Promise<string> {
    try {
      await world.platform.loyalty.codePools.redeem(pool, code);
      return "OK";
    } catch (error) {
      assert.ok(error instanceof AppError);
      return error.code;
    }
  }
  afterEach(() => world.dispose());
  const fill = (codes: readonly string[]): Promise<unknown> =>
    world.platform.loyalty.codePools.add(pool, codes);

  it("has a code of the pool by the time that the action is answered", async () => {
    await fill(["A", "B"]);
    const fan = await world.fan("Sam");
    assert.equal((await fan.act("cheer")).status, 200);
    assert.equal((await world.platform.loyalty.codePools.stats(pool)).allocated, 1);
    const [id] = await ownIds(world, fan);
    const { status, json } = await couponOf(world, fan, "drink");
    assert.equal(status, 200);
    assert.deepEqual(json, {
      message: "OK",
      data: {
        id,
        title: "A free drink",
        link: "https://bar.example/drink",
        coupon_id: "drink",
        coupon_type: "unique",
        coupon_code: "A",
        showOnNotification: false,
      },
    });
    assert.deepEqual((await couponOf(world, fan, id ?? "")).json, json);
  });

  it("is the newest one of its kind unless its own id is asked for", async () => {
    await fill(["A", "B"]);
    const fan = await world.fan("Sam");
    await fan.act("cheer");
    await fan.act("cheer");
    const [first, second] = await ownIds(world, fan);
    assert.equal(await codeOf(world, fan), "B");
    assert.equal(await codeOf(world, fan, second), "B");
    assert.equal(await codeOf(world, fan, first), "A");
  });

  it("has one code however often its action is reported", async () => {
    await fill(["A", "B", "C"]);
    const fan = await world.fan("Sam");
    await Promise.all(Array.from({ length: 8 }, () => fan.act("cheer", {}, "goal-1")));
    assert.equal((await ownIds(world, fan)).length, 1);
    assert.equal((await world.platform.loyalty.codePools.stats(pool)).allocated, 1);
  });

  it("waits without a code while the pool is exhausted, and gets one at a later read", async () => {
    const fan = await world.fan("Sam");
    assert.equal((await fan.act("cheer")).status, 200);
    assert.equal(await codeOf(world, fan), "");
    await fill(["A"]);
    const codes = await Promise.all(Array.from({ length: 8 }, () => codeOf(world, fan)));
    assert.deepEqual(new Set(codes), new Set(["A"]));
    assert.equal((await world.platform.loyalty.codePools.stats(pool)).allocated, 1);
  });

  it("is given a code by a sweep, which asks an exhausted pool again after an hour", async () => {
    const fan = await world.fan("Sam");
    await fan.act("cheer");
    const { processDueUser: settle } = world.platform.loyalty;
    assert.equal(await settle(memberOf(fan)), world.clock.now() + couponRetryMs);
    assert.equal(couponRetryMs, hourMs);
    await fill(["A"]);
    assert.equal(await settle(memberOf(fan)), null);
    assert.equal((await world.platform.loyalty.codePools.stats(pool)).allocated, 1);
  });

  it(`is one of ${couponsFilledMax} that are given codes at a time`, async () => {
    const fan = await world.fan("Sam");
    for (let n = 0; n <= couponsFilledMax; n++) await fan.act("cheer");
    await fill(numbered(couponsFilledMax + 1));
    const { processDueUser: settle, codePools } = world.platform.loyalty;
    assert.equal(await settle(memberOf(fan)), world.clock.now() + couponRetryMs);
    assert.equal((await codePools.stats(pool)).available, 1);
    assert.equal(await settle(memberOf(fan)), null);
    assert.equal((await codePools.stats(pool)).available, 0);
  });

  it("gives a shared code to every user", async () => {
    for (const name of ["Sam", "Kim"]) {
      const fan = await world.fan(name);
      await fan.act("shop");
      const { data } = (await couponOf(world, fan, "shirt")).json;
      assert.deepEqual([data.coupon_code, data.coupon_type, data.link], ["TEN", "shared", ""]);
      const { json } = await world.call("/api/loyalty/notifications", { token: fan.token });
      assert.equal(json.data[0].type, "couponReceived");
      assert.equal(json.data[0].payload.userCouponId, data.id);
    }
  });

  it("is not there for others, when it is unknown, and once it has expired", async () => {
    await fill(numbered(5));
    const [sam, kim] = [await world.fan("Sam"), await world.fan("Kim")];
    await sam.act("eat");
    await kim.act("cheer");
    await kim.act("cheer");
    const [own] = await ownIds(world, sam);
    assert.equal((await couponOf(world, sam, own ?? "")).status, 200);
    const [, foreign] = await ownIds(world, kim);
    for (const id of [foreign ?? "", "drink", "nothing", "__proto__", "%F0%9F%8D%BA"]) {
      assertProblem(await couponOf(world, sam, id), 404, "not_found");
    }
    assertProblem(await couponOf(world, await world.fan("New"), "drink"), 404, "not_found");
    world.clock.advance(hourMs / 2 - 1);
    assert.equal((await couponOf(world, sam, "snack")).status, 200);
    world.clock.advance(1);
    for (const id of ["snack", own ?? ""]) assertProblem(await couponOf(world, sam, id), 404, "not_found");
  });

  it("never has the code of another when many users race for few codes", async () => {
    await fill(numbered(25));
    const fans = await Promise.all(Array.from({ length: 40 }, (_, n) => world.fan(`Fan ${n}`)));
    await Promise.all(fans.map(fan => fan.act("cheer")));
    const codes = await Promise.all(fans.map(fan => codeOf(world, fan)));
    const given = codes.filter(code => code !== "");
    assert.deepEqual(given.toSorted(), numbered(25).toSorted());
    assert.deepEqual(await world.platform.loyalty.codePools.stats(pool), {
      total: 25,
      available: 0,
      allocated: 25,
      redeemed: 0,
    });
  });

  it("is worth nothing at the till once it has expired or was refunded", async () => {
    await fill(["A", "B", "C"]);
    const fan = await world.fan("Sam");
    const { products, codePools, grant } = world.platform.loyalty;
    const rewards = [{ type: "metric", metricId: "points", metricQuantity: 10 }] as const;
    await grant(memberOf(fan), { rewards, reason: "To spend" });
    await fan.act("eat");
    const { id } = await products.redeem(memberOf(fan), { key: "k", productId: "drink", quantity: 1 });
    await products.refund(memberOf(fan), id, { restocks: true });
    await fan.act("cheer");
    world.clock.advance(hourMs / 2);
    assert.equal(await scanned("a"), "code_expired");
    assert.equal(await scanned("b"), "code_revoked");
    assert.equal(await scanned("c"), "OK");
    assert.deepEqual(await codePools.stats(pool), { total: 3, available: 0, allocated: 2, redeemed: 1 });
  });

  it("goes to the account with its holder, who waits for one code and not for two", async () => {
    await fill(["A"]);
    const [sam, kim] = [await world.fan("Sam"), await world.fan("Kim")];
    await sam.act("eat");
    await sam.act("cheer");
    await world.platform.loyalty.merge(memberOf(sam), memberOf(kim));
    assert.equal(await codeOf(world, kim, "snack"), "A");
    await fill(["B", "C"]);
    assert.equal(await codeOf(world, kim), "B");
    await world.platform.loyalty.processDueUser(memberOf(sam));
    assert.equal((await world.platform.loyalty.codePools.stats(pool)).available, 1);
    world.clock.advance(hourMs / 2 - 1);
    assert.equal(await scanned("A"), "OK");
    world.clock.advance(1);
    assert.equal(await scanned("B"), "OK");
  });

  it("is good at the till after its holder was removed", async () => {
    await fill(["A"]);
    const fan = await world.fan("Sam");
    await fan.act("cheer");
    await world.platform.loyalty.removeUser(memberOf(fan));
    assert.equal(await scanned("A"), "OK");
  });

  it("that is missing is warned of, once an hour and to webhooks, from a tenth of the pool on", async () => {
    const fan = await world.fan("Sam");
    await fan.act("cheer");
    await fan.act("cheer");
    await fill(numbered(20));
    await fan.act("cheer");
    assert.deepEqual(warnings(), [["code_pool_empty", 0, 0]]);
    for (let n = 4; n <= 20; n++) await fan.act("cheer");
    assert.deepEqual(warnings().slice(1), [["code_pool_low", 2, 20]]);
    world.clock.advance(hourMs);
    await (await world.fan("Kim")).act("cheer");
    assert.deepEqual(warnings().slice(2), [["code_pool_empty", 0, 20]]);
    await world.platform.idle();
    assert.deepEqual(
      delivered.map(({ type, data }) => [type, data]),
      [
        ["loyalty.codePoolEmpty", { ...pool, total: 0, available: 0 }],
        ["loyalty.codePoolLow", { ...pool, total: 20, available: 2 }],
        ["loyalty.codePoolEmpty", { ...pool, total: 20, available: 0 }],
      ],
    );
  });

  it("is shown to back ends that may read users", async () => {
    await fill(["A"]);
    const fan = await world.fan("Sam");
    await fan.act("cheer");
    const owner = { organisationId: ids.organisation, name: "Back end" };
    for (const [permission, status] of [
      ["users:read", 200],
      ["actions:write", 403],
    ] as const) {
      const { key, secret } = await world.platform.apiKeys.create({ ...owner, permissions: [permission] });
      const issued = await world.call("/api/auth/token", { body: { type: "service", key, secret } });
      const token = issued.json.data.accessToken;
      const answer = await world.call(`/api/loyalty/coupons/drink?user_id=${fan.userId}`, { token });
      assert.equal(answer.status, status);
    }
  });
});

describe("a coupon's code", () => {
  it("survives every failure between the claim and the coupon, and is claimed once", async () => {
    const probes: ProbeStore[] = [];
    const world = await openPlatform(async clock => {
      const probe = new ProbeStore(clock);
      probes.push(probe);
      return probe;
    });
    const [probe] = probes;
    assert.ok(probe);
    await world.platform.loyalty.codePools.add(pool, numbered(9));
    const fails = async (): Promise<never> => {
      throw new AppError("storage_unavailable", "Cannot reach the store");
    };
    // The decision, the claim, the code on the coupon: each fails once, and once after it was applied.
    for (let step = 1; step < 3; step++) {
      for (const isApplied of [false, true]) {
        const fan = await world.fan(`Sam ${step}`);
        await fan.profile();
        const pass = async (_: unknown, next: () => Promise<never>): Promise<never> => await next();
        for (let n = 0; n < step; n++) probe.interceptions.push(pass as never);
        probe.interceptions.push(async (_, next) => {
          if (isApplied) await next();
          return await fails();
        });
        assert.equal((await fan.act("cheer")).status, 200, "the action itself took effect");
        const code = await codeOf(world, fan);
        assert.notEqual(code, "");
        assert.equal(await codeOf(world, fan), code);
      }
    }
    assert.equal((await world.platform.loyalty.codePools.stats(pool)).allocated, 4);
    await world.dispose();
  });
});

describeOnStores("the pools of operators", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  async function keyHeaders(
    permission: Permission = "rewards:write",
    organisationId: string = ids.organisation,
  ): Promise<Record<string, string>> {
    const owner = { organisationId, name: "Back end", permissions: [permission] };
    const { key, secret } = await world.platform.apiKeys.create(owner);
    return { "x-api-key": key, "x-api-secret": secret };
  }

  it("accept codes, report their number, and redeem them", async () => {
    const headers = await keyHeaders();
    const codes = { headers, body: { codes: ["A", "B", "A", "C"] } };
    const added = await world.call("/internal/loyalty/pools/drinks/codes", codes);
    const stats = { poolId: "drinks", total: 3, available: 3, allocated: 0, redeemed: 0 };
    assert.deepEqual(added.json, { message: "OK", data: { ...stats, added: 3, duplicates: 1 } });
    const fan = await world.fan("Sam");
    await fan.act("cheer");
    const scan = (code: string, key?: string): Promise<Answer> =>
      world.call("/internal/loyalty/pools/drinks/redemptions", {
        headers: key === undefined ? headers : { ...headers, "idempotency-key": key },
        body: { code },
      });
    const redeemedAt = new Date(world.clock.now()).toISOString();
    assert.deepEqual((await scan(" a\n", "scan-1")).json.data, { code: "A", redeemedAt });
    world.clock.advance(5_000);
    assert.deepEqual((await scan(" a\n", "scan-1")).json.data, { code: "A", redeemedAt });
    const used = [await scan("A"), await scan("A", "scan-2"), await scan("a")];
    for (const answer of used) assertProblem(answer, 409, "code_used");
    assert.deepEqual(
      used.map(({ json }) => json.redeemedAt),
      [redeemedAt, redeemedAt, redeemedAt],
    );
    assertProblem(await scan("B"), 409, "code_not_issued");
    assertProblem(await scan("Z"), 404, "not_found");
    const shown = await world.call("/internal/loyalty/pools/drinks", { headers });
    assert.deepEqual(shown.json.data, { ...stats, available: 2, redeemed: 1 });
  });

  it("answer a scan alike under its key when the stored answer is lost", async () => {
    const headers = { ...(await keyHeaders()), "idempotency-key": "scan-1" };
    await world.platform.loyalty.codePools.add(pool, ["A"]);
    await (await world.fan("Sam")).act("cheer");
    const scan = (): Promise<Answer> =>
      world.call("/internal/loyalty/pools/drinks/redemptions", { headers, body: { code: "A" } });
    const first = await scan();
    assert.equal(first.status, 200);
    world.clock.advance(idempotencyMs);
    assert.deepEqual((await scan()).json, first.json);
    const others = { ...(await keyHeaders()), "idempotency-key": "scan-1" };
    const body = { code: "A" };
    const other = await world.call("/internal/loyalty/pools/drinks/redemptions", { headers: others, body });
    assertProblem(other, 409, "code_used");
  });

  it(`take ${codesAddedMax} codes at once, and no more`, async () => {
    const headers = await keyHeaders();
    const long = "x".repeat(120);
    const codes = Array.from({ length: codesAddedMax }, (_, n) => `${long}-${n}`);
    const added = await world.call("/internal/loyalty/pools/drinks/codes", { headers, body: { codes } });
    assert.equal(added.json.data.added, codesAddedMax);
    const body = { codes: [...codes, "one more"] };
    const refused = await world.call("/internal/loyalty/pools/drinks/codes", { headers, body });
    assertProblem(refused, 400, "validation_failed");
    for (const wrong of [{ codes: [] }, { codes: [" "] }, { codes: [7] }, { codes: "A" }, {}]) {
      const answer = await world.call("/internal/loyalty/pools/drinks/codes", { headers, body: wrong });
      assertProblem(answer, 400, "validation_failed");
    }
  });

  it("are there only for keys of the organisation that may give rewards, and only those of the configuration", async () => {
    const paths = ["/internal/loyalty/pools/drinks", "/internal/loyalty/pools/drinks/codes"] as const;
    const bodies = [undefined, { codes: ["A"] }];
    for (const [index, path] of paths.entries()) {
      const body = bodies[index] === undefined ? {} : { body: bodies[index] };
      const foreign = await keyHeaders("rewards:write", ids.otherOrganisation);
      assertProblem(await world.call(path, { headers: foreign, ...body }), 404, "not_found");
      const weak = await keyHeaders("users:read");
      assertProblem(await world.call(path, { headers: weak, ...body }), 403, "insufficient_scope");
      assertProblem(await world.call(path, { ...body }), 401, "missing_api_key");
      const unknown = path.replace("drinks", "cakes");
      assertProblem(await world.call(unknown, { headers: await keyHeaders(), ...body }), 404, "not_found");
    }
    assert.equal((await world.platform.loyalty.codePools.stats(pool)).total, 0);
  });
});
