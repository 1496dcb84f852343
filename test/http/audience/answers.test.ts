/** The OpenAPI document describes every member of the replies of the audience API. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryQueue, createMemoryStore } from "../../../adapters/memory/mod.ts";
import { nativeExportKernels } from "../../../adapters/native/mod.ts";
import { WebhookError } from "../../../lib/base/outbound/outbound.ts";
import {
  type Answer,
  type Fan,
  ids,
  loyalty,
  openPlatform,
  seed,
  type TestPlatform,
} from "../../support/platform.ts";
import { until } from "../../support/until.ts";
import { type DescribedReplies, describeReplies } from "../_answers.ts";
import { newKey } from "../_operations.ts";

const base = "/v1/api/audience";
const challengeId = "0e000000-0000-4000-8000-000000000002";
const minuteMs = 60_000;

const space = {
  ...loyalty,
  metrics: [
    {
      id: "points",
      title: "Points",
      lots: { expires: { after: { days: 20 } } },
    },
    { id: "coins", title: "Coins", lots: { activatesAfter: { hours: 12 } } },
  ],
  milestones: [
    {
      id: "level",
      title: "Level",
      metricId: "points",
      isTier: true,
      milestones: [
        { id: "bronze", title: "Bronze", threshold: 10 },
        { id: "silver", title: "Silver", threshold: 5_000 },
      ],
    },
  ],
  rules: [
    ...loyalty.rules.filter(({ id }) => id !== "rest"),
    {
      id: "coins",
      trigger: { action: "rest" },
      effects: [
        { type: "metric", metricId: "coins", metricQuantity: 2 },
        { type: "challengeStart", challengeId },
        { type: "notification", notification: { display: "toast", title: "Rested", message: "" } },
      ],
    },
  ],
  challenges: [
    ...loyalty.challenges,
    {
      id: challengeId,
      title: "Cheer",
      showInProfile: true,
      recurrence: "onExpiration",
      period: "week",
      missions: [
        {
          id: "0f000000-0000-4000-8000-000000000003",
          title: "Cheer twice",
          rule: { action: "cheer", count: 2 },
        },
      ],
      rewards: [{ type: "coupon", couponId: "drink" }],
    },
  ],
  products: [
    ...loyalty.products,
    {
      id: "scarf",
      title: "Scarf",
      sku: "SC-1",
      prices: [{ currency: "points", amount: 10_000 }],
      stock: { type: "limited", quantity: 2 },
      limits: { perUser: 2, window: "day" },
      availableFrom: 1,
      availableTo: 4_000_000_000,
      fulfilment: { type: "manual" },
    },
  ],
  webhooks: [{ id: "crm", url: "https://crm.example/", events: ["actionRewarded", "exportCompleted"] }],
};

describe("the OpenAPI document", () => {
  let world: TestPlatform;
  let fan: Fan;
  let document: DescribedReplies;
  let ownCredentials: { readonly token: string; readonly headers: Readonly<Record<string, string>> };
  let headers: Readonly<Record<string, string>>;
  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }), {
      seed: { ...seed, loyalty: { [ids.space]: space } },
      exports: { kernels: nativeExportKernels(), intervalMs: 0 },
      queue: createMemoryQueue({ clock: () => world.clock.now() }),
      webhooks: {
        async send() {
          throw new WebhookError("the service answered 410", { status: 410 });
        },
      },
    });
    document = await describeReplies(world);
    const { key, secret } = await newKey(world);
    headers = { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": ids.organisation };
    fan = await world.fan("Sam");
    ownCredentials = { token: fan.token, headers: { "x-platform-org-id": ids.organisation } };
    const patched = await world.call(`${base}/profile`, {
      ...ownCredentials,
      method: "PATCH",
      body: { displayName: "Sam", preferences: { sounds: { goal: true } }, customFields: { shirt: "M" } },
    });
    document.assertDescribed("patchAudienceProfile", patched);
    for (const outcome of ["exact", "exact", "right"]) await fan.act("prediction", { outcome });
    assert.equal((await fan.act("rest")).status, 200);
    world.clock.advance(minuteMs);
  });
  after(() => world.dispose());

  it("describes users' own profiles, lists and products", async () => {
    const operations = {
      getAudienceProfile: "profile",
      listAudienceTransactions: "transactions",
      listAudienceChallenges: "challenges",
      listAudienceNotifications: "notifications",
      listAudienceProducts: "products",
    };
    for (const [operation, path] of Object.entries(operations)) {
      document.assertDescribed(operation, await world.call(`${base}/${path}`, ownCredentials));
    }
    const { json } = await world.call(`${base}/profile`, ownCredentials);
    assert.equal(json.data.loyalty.tier.id, "bronze");
    assert.equal(json.data.activeChallenges.length, 1);
    assert.equal(json.data.loyalty.balances.coins.pending, 2);
    assert.equal(json.data.loyalty.balances.points.expiringSoon.length, 1);
    const [{ notificationId }] = (await world.call(`${base}/notifications`, ownCredentials)).json.data;
    const read = await world.call(`${base}/notifications/${notificationId}/read`, {
      ...ownCredentials,
      method: "POST",
    });
    document.assertDescribed("readAudienceNotification", read);
    document.assertDescribed(
      "listAudienceNotifications",
      await world.call(`${base}/notifications`, ownCredentials),
    );
  });

  it("describes one user and several, one of them unknown", async () => {
    const operations = {
      getSpaceProfiles: "profile",
      listSpaceTransactions: "transactions",
      listSpaceChallenges: "challenges",
      listSpaceNotifications: "notifications",
    };
    const issued = await world.call("/api/auth/token", {
      body: { type: "service", key: headers["x-api-key"], secret: headers["x-api-secret"] },
    });
    const service = { ...ownCredentials, token: issued.json.data.accessToken };
    for (const [operation, path] of Object.entries(operations)) {
      for (const query of [`user_id=${fan.userId}`, `user_ids=${fan.userId},nobody`]) {
        document.assertDescribed(operation, await world.call(`/api/audience/${path}?${query}`, service));
      }
    }
    const named = await world.call(`${base}/internal/profiles?user_ids=${fan.userId},nobody`, { headers });
    document.assertDescribed("listAudienceProfiles", named);
    const put = { body: [{ user_id: fan.userId, data: { displayName: "Sam" } }], method: "PUT" };
    document.assertDescribed(
      "putSpaceProfiles",
      await world.call("/api/audience/profile", { ...service, ...put }),
    );
  });

  it("describes searches with any fields", async () => {
    const search = async (body: object): Promise<void> =>
      document.assertDescribed(
        "searchAudienceUsers",
        await world.call(`${base}/internal/users/search`, { headers, body }),
      );
    await search({});
    await search({
      fields: [
        ...["userId", "displayName", "provider", "projectId", "version", "createdAt", "updatedAt"],
        ...["lastActiveAt", "preferences", "customFields", "metrics", "inventory", "challenges"],
      ],
    });
    await search({
      fields: ["customFields.goals", "customFields.shirt", "metrics.points", "inventory.badges"],
    });
  });

  it("describes bulk requests and dead letters", async () => {
    const reported = await world.call(`${base}/internal/actions/bulk`, {
      headers,
      body: [
        { user_id: fan.userId, data: { action: "prediction", data: { outcome: "right", n: 1 } } },
        { user_id: fan.userId, data: { action: "unheard-of", metadata: { from: { app: "tv" } } } },
      ],
    });
    document.assertDescribed("queueActions", reported);
    const worker = world.platform.startActionWorker();
    const listDead = (): Promise<Answer> => world.call(`${base}/internal/actions/dead-letters`, { headers });
    await until("the action is dead", async () => (await listDead()).json.totalCount === 1);
    await worker.stop();
    const { batchId } = reported.json.data;
    document.assertDescribed(
      "getActionBatch",
      await world.call(`${base}/internal/actions/${batchId}`, { headers }),
    );
    const dead = await listDead();
    document.assertDescribed("listDeadActions", dead);
    const replay = { headers, body: { ids: [dead.json.data[0].deadLetterId] } };
    const replayed = await world.call(`${base}/internal/actions/dead-letters/replay`, replay);
    document.assertDescribed("replayDeadActions", replayed);
    const rewards = [
      { user_id: fan.userId, data: { type: "metric", currency: "points", amount: 3 } },
      { user_id: fan.userId, data: { type: "coupon", couponId: "drink" } },
    ];
    const given = await world.call(`${base}/internal/rewards/bulk`, { headers, body: rewards });
    document.assertDescribed("giveRewards", given);
    const updates = [
      { userId: fan.userId, metrics: { points: { op: "incr", value: 1 } } },
      { userId: fan.userId, displayName: "Sam", expectedVersion: 99 },
    ];
    const updated = await world.call(`${base}/internal/profiles/update-batch`, { headers, body: updates });
    document.assertDescribed("updateAudienceProfiles", updated);
  });

  it("describes exports, webhooks and their dead letters", async () => {
    const order = { headers, body: { format: "json" } };
    const accepted = await world.call(`${base}/internal/users/export`, order);
    document.assertDescribed("exportAudienceUsers", accepted);
    await world.platform.idle();
    const { exportId } = accepted.json.data;
    const completed = await world.call(`${base}/internal/exports/${exportId}`, { headers });
    document.assertDescribed("getAudienceExport", completed);
    assert.equal(completed.json.data.status, "completed");
    const { pathname } = new URL(completed.json.data.downloadUrl);
    assert.equal((await world.call(pathname)).status, 200);
    document.assertDescribed(
      "listAudienceExports",
      await world.call(`${base}/internal/exports`, { headers }),
    );
    document.assertDescribed(
      "listAudienceExportTrail",
      await world.call(`${base}/internal/export-trail`, { headers }),
    );
    document.assertDescribed(
      "getAudienceExportWebhook",
      await world.call(`${base}/internal/export-webhook`, { headers }),
    );
    const webhooks = `/api/v2/spaces/${ids.space}/loyalty/webhooks`;
    document.assertDescribed("listLoyaltyWebhooks", await world.call(webhooks, { headers }));
    document.assertDescribed("getLoyaltyWebhook", await world.call(`${webhooks}/crm`, { headers }));
    const dead = await world.call(`${webhooks}/crm/dead-letters`, { headers });
    document.assertDescribed("listDeadWebhookLetters", dead);
    const types = dead.json.data.map(
      (one: { attributes: { message_type: string } }) => one.attributes.message_type,
    );
    assert.ok(types.includes("loyalty.actionRewarded"), types.join());
    const body = { ids: [dead.json.data[0].id] };
    const enabled = await world.call(`${webhooks}/crm/enable`, { headers, method: "POST" });
    document.assertDescribed("enableLoyaltyWebhook", enabled);
    const replayed = await world.call(`${webhooks}/crm/dead-letters/replay`, { headers, body });
    document.assertDescribed("replayDeadWebhookLetters", replayed);
  });

  it("does not accept a reply with a missing or an additional member", async () => {
    const { json } = await world.call(`${base}/products`, ownCredentials);
    assert.equal(document.fits("listAudienceProducts", json), true);
    const [{ reasons: _, ...product }] = json.data;
    assert.equal(document.fits("listAudienceProducts", { ...json, data: [product] }), false);
    assert.equal(
      document.fits("listAudienceProducts", { ...json, data: [{ ...json.data[0], more: 1 }] }),
      false,
    );
  });
});
