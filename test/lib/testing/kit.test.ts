/** The test kit, as unit tests of customers use it. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { nativeExportKernels } from "../../../adapters/native/mod.ts";
import type { AppError } from "../../../lib/base/errors/mod.ts";
import type { GrandstandError } from "../../../lib/client/mod.ts";
import { createTestKit, type TestKit, type TestKitOptions } from "../../../lib/testing/mod.ts";

const dayMs = 86_400_000;

const loyalty = {
  metrics: [{ id: "points", title: "Points", lots: { expires: { after: { days: 2 } } } }],
  actions: [
    { name: "goal", clientReportable: true },
    { name: "refund", clientReportable: false },
  ],
  rules: [
    {
      id: "goal",
      trigger: { action: "goal" },
      effects: [{ type: "metric", metricId: "points", metricQuantity: 3 }],
    },
  ],
  webhooks: [{ id: "crm", url: "https://crm.example/hook", events: ["actionRewarded"] }],
};
const settings = {
  organisation: { exports: { webhook: { url: "https://crm.example/exports" } } },
  project: {
    leaderboards: [
      { id: "overall", source: { type: "metric", metricId: "points" } },
      {
        id: "daily",
        source: { type: "metric", metricId: "points" },
        seasons: { type: "daily", timeZone: "UTC" },
      },
    ],
    identity: { emailVerification: "optional" },
  },
};

async function open(t: TestContext, options: TestKitOptions = {}): Promise<TestKit> {
  const kit = await createTestKit({ loyalty, settings, ...options });
  t.after(() => kit.close());
  return kit;
}

describe("the test kit", () => {
  it("signs fans up, who act, earn and rank at once", async t => {
    const kit = await open(t);
    const [ann, ben] = [await kit.fan({ username: "Ann" }), await kit.fan()];
    await ann.act("goal", { actionId: "goal-1" });
    await ann.act("goal", { actionId: "goal-1" });
    await ann.act("goal");
    await ben.act("goal");
    assert.deepEqual((await ann.profile()).metrics, { points: 6 });
    const entries = await kit.board("overall");
    assert.deepEqual(
      entries.map(({ rank, score, userId, publicProfile }) => [rank, score, userId, publicProfile.username]),
      [
        [1, 6, ann.userId, "Ann"],
        [2, 3, ben.userId, "Fan 2"],
      ],
    );
    assert.equal((await kit.board("overall", { query: { limit: "1" } })).length, 1);
    const { projectId } = kit.ids;
    const page = await ben.client.leaderboards.listProjectLeaderboard({
      projectId,
      leaderboardId: "overall",
    });
    assert.deepEqual(page, entries);
  });

  it("passes time: points expire, seasons end, sessions and tokens of fans go on", async t => {
    const kit = await open(t);
    const fan = await kit.fan();
    await fan.act("goal");
    const startedAt = kit.now();
    await kit.passTime("1 day");
    assert.equal(kit.now() - startedAt, dayMs);
    assert.deepEqual(await kit.board("daily"), []);
    assert.equal((await kit.board("overall"))[0]?.score, 3);
    await kit.passTime("25 hours");
    // The board follows the expiry without a visit of the fan.
    assert.deepEqual(
      (await kit.board("overall")).map(({ score }) => score),
      [0],
    );
    assert.deepEqual((await fan.profile()).metrics, { points: 0 });
    await kit.passTime("30 weeks");
    await fan.act("goal");
    assert.deepEqual((await fan.profile()).metrics, { points: 3 });
  });

  it("receives webhooks, lets them fail, and sees them repeated", async t => {
    const kit = await open(t);
    const fan = await kit.fan();
    kit.webhooks.fail({ status: 500, times: 2 });
    await fan.act("goal");
    await kit.settle();
    assert.deepEqual([kit.webhooks.received.length, kit.webhooks.attempts], [0, 1]);
    await kit.passTime("1 minute");
    assert.equal(kit.webhooks.attempts, 3);
    const [message] = kit.webhooks.received;
    assert.deepEqual([message?.type, message?.url], ["loyalty.actionRewarded", "https://crm.example/hook"]);
    kit.webhooks.clear();
    kit.webhooks.fail();
    await fan.act("goal");
    await kit.passTime("1 hour");
    assert.equal(kit.webhooks.received.length, 0);
    kit.webhooks.accept();
    await kit.passTime("2 hours");
    assert.equal(kit.webhooks.received.length, 1);
  });

  it("keeps mail with its codes", async t => {
    const kit = await open(t);
    assert.throws(() => kit.mailbox.last("ann@example.com"), /no mail to ann@example.com: none was sent/);
    const { projectId } = kit.ids;
    const selector = { projectId, strategy: "email", provider: "managedPool" };
    const [email, password] = ["ann@example.com", "correct horse battery"];
    await kit.call("/v1/user", { ...selector, data: { email, password } });
    const headers = {
      authorization: `Bearer ${await kit.platform.clientTokens.issue(projectId)}`,
      "content-type": "application/json",
    };
    const confirm = async (path: string, method: string, data: object) => {
      const body = JSON.stringify({ ...selector, data: { email, ...data } });
      return (await kit.fetch(`/v1/user/${path}`, { method, headers, body })).status;
    };
    assert.equal(await confirm("verify-email", "PUT", {}), 200);
    await kit.settle();
    assert.equal(kit.mailbox.last(email).kind, "emailCode");
    const confirmationCode = kit.mailbox.code(email);
    assert.match(confirmationCode, /^\d{8}$/);
    await kit.passTime("11 minutes");
    assert.equal(await confirm("confirm-email", "POST", { confirmationCode }), 400);
    assert.throws(() => kit.mailbox.code("ben@example.com"), /sent were emailCode to ann@example.com/);
    kit.mailbox.clear();
    assert.deepEqual(kit.mailbox.mails, []);
  });

  it("has a back end with a key, an operator, and exports that complete as time passes", async t => {
    const kit = await open(t, { platform: { exports: { kernels: nativeExportKernels() } } });
    const fan = await kit.fan();
    const backEnd = await kit.backEnd();
    await backEnd.call("/v1/api/audience/internal/actions/bulk", {
      actions: [{ userId: fan.userId, action: "goal", actionId: "g" }],
    });
    assert.deepEqual((await fan.profile()).metrics, { points: 3 });
    const space = await kit.operator<{ data: { attributes: { name: string } } }>(
      `/spaces/${kit.ids.spaceId}`,
    );
    assert.equal(space.data.attributes.name, "Test");
    const request = { format: "json", fields: ["userId"], notify: { email: "crm@club.example" } };
    await backEnd.call("/v1/api/audience/internal/users/export", request);
    await kit.passTime("1 hour");
    assert.equal(kit.mailbox.last("crm@club.example").kind, "exportCompleted");
    const [link = ""] = kit.mailbox.links();
    assert.equal((await kit.fetch(link)).status, 200);
    const weak = await kit.backEnd(["users:read"]);
    await assert.rejects(weak.call("/v1/api/audience/internal/users/export", request), { status: 403 });
  });

  it("gives the same ids for the same seed, others for another one, and shares nothing", async t => {
    const first = await open(t, { seed: 7 });
    const same = await open(t, { seed: 7 });
    const other = await open(t, { seed: 8 });
    const fans = await Promise.all([first, same, other].map(kit => kit.fan()));
    assert.deepEqual(first.ids, same.ids);
    assert.deepEqual([fans[0]?.userId, fans[0]?.externalId], [fans[1]?.userId, fans[1]?.externalId]);
    assert.notEqual(first.ids.spaceId, other.ids.spaceId);
    assert.notEqual(fans[0]?.userId, fans[2]?.userId);
    await fans[0]?.act("goal");
    await first.passTime("1 day");
    assert.deepEqual((await fans[1]?.profile())?.metrics, { points: 0 });
    assert.equal(first.now() - same.now(), dayMs);
  });

  it("says what is wrong", async t => {
    const kit = await open(t);
    const fan = await kit.fan();
    await assert.rejects(fan.act("offside"), (error: GrandstandError) => {
      assert.deepEqual([error.name, error.status, error.code], ["GrandstandError", 403, "forbidden"]);
      assert.match(error.message, /^Cannot report .*"offside","clientReportable":true/);
      return true;
    });
    await assert.rejects(fan.act("refund"), { status: 403, code: "forbidden" });
    await assert.rejects(kit.board("weekly"), { status: 400, code: "validation_failed" });
    await assert.rejects(kit.operator("/spaces/x"), { status: 400, code: "validation_failed" });
    for (const span of ["1 fortnight", "soon", "-1 day", "day", -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      await assert.rejects(kit.passTime(span as number), /TypeError: Cannot pass the time .*"90 minutes"/);
    }
    await assert.rejects(createTestKit({ loyalty: { metrics: [{}] } }), (error: AppError) => {
      assert.equal(error.code, "validation_failed");
      assert.match(error.message, /\/loyalty\/metrics\/0\/id: /);
      return true;
    });
    for (const [options, message] of [
      [{ platform: { colour: "red" } }, /no option colour/],
      [
        { platform: { http: { metrics: true } } },
        /http must be an object with no other names than .*servesMetrics/,
      ],
      [{ platform: { identity: { limts: "off" } } }, /identity must be .*limits/],
      [{ loyality: {} }, /no option loyality; there are loyalty/],
      [{ settings: { projct: {} } }, /no level of settings projct/],
      [{ startAt: "2030-01-01" }, /startAt must be a number/],
    ] as const)
      await assert.rejects(createTestKit(options as object), { name: "TypeError", message });
  });

  it("runs timers of the platform in their order, each at its time", async t => {
    const fired: number[] = [];
    let isChecked = (): void => {};
    const checked = new Promise<void>(resolve => {
      isChecked = resolve;
    });
    const check = () => {
      isChecked();
      return new Promise<boolean>(() => {});
    };
    const kit = await open(t, {
      platform: {
        identity: { passwordPolicy: { check, checkMsMax: 2_000, onCheckFailed: "refuse" } as object },
      },
    });
    const selector = { projectId: kit.ids.projectId, strategy: "email", provider: "managedPool" };
    const data = { email: "ann@example.com", password: "correct horse battery" };
    const refused = kit.call("/v1/user", { ...selector, data }).catch((error: GrandstandError) => {
      fired.push(kit.now());
      return error.status;
    });
    const startedAt = kit.now();
    await checked;
    await kit.passTime("1 minute");
    assert.equal(await refused, 503);
    assert.ok((fired[0] ?? 0) >= startedAt + 2_000);
  });
});
