/** Valid requests of the audience API, by operation. */

import { ids, type TestPlatform } from "../support/platform.ts";
import { exportExamples } from "./_export_examples.ts";
import type { Example } from "./_operations.ts";
import { backEnd } from "./audience/_back_end.ts";

const bulkActions: readonly Pick<Example, "body">[] = [
  {
    body: [
      { user_id: "somebody", data: { action: "prediction", data: { outcome: "exact" }, actionId: "b-1" } },
    ],
  },
  { body: { actions: [{ userId: "somebody", action: "rest", timestamp: "2025-06-15T12:00:00.000Z" }] } },
];
const bulkRewards: readonly Pick<Example, "body">[] = [
  {
    body: [{ user_id: "somebody", data: { type: "metric", currency: "points", amount: 3, rewardId: "r-1" } }],
  },
  {
    body: {
      rewards: [
        {
          userId: "somebody",
          type: "inventory",
          inventorySetId: "badges",
          inventoryItemId: "oracle",
          reason: "Luck",
        },
        { userId: "somebody", type: "coupon", couponId: "drink" },
      ],
    },
  },
];
const update = {
  userId: "somebody",
  displayName: "Some",
  preferences: { language: "en" },
  metrics: { points: { op: "incr", value: 1 }, energy: { op: "set", value: 2 } },
};

/** The examples; `service` are the credentials of a back end with a service token. */
export async function audienceExamples(
  world: TestPlatform,
  service: Readonly<Record<string, string>>,
): Promise<readonly [string, readonly Partial<Example>[]][]> {
  const byService = (examples: readonly Pick<Example, "body">[]) =>
    examples.map(example => ({ ...example, headers: service }));
  return [
    ["queueAction", [{ body: { userId: "somebody", action: "prediction", data: { outcome: "exact" } } }]],
    ["queueActions", bulkActions],
    ["putAudienceActions", byService(bulkActions)],
    ["postAudienceActions", byService(bulkActions)],
    ["getActionBatch", [{ params: { batchId: await acceptedBatch(world) } }]],
    ["listDeadActions", [{ query: { limit: "2", offset: "0" } }]],
    ["replayDeadActions", [{ body: { ids: ["1"] } }]],
    ["giveRewards", bulkRewards],
    ["putAudienceRewards", byService(bulkRewards)],
    ["postAudienceRewards", byService(bulkRewards)],
    ["readAudienceNotification", [await unreadNotification(world)]],
    [
      "patchAudienceProfile",
      [
        { body: { displayName: "Sam", preferences: { sounds: { goal: true }, language: null } } },
        { body: { customFields: { shirt: "M" } }, headers: { "if-match": "*" } },
      ],
    ],
    ["listAudienceTransactions", [{ query: { limit: "5", type: "credit", currency: "points" } }]],
    ["listAudienceChallenges", [{ query: { limit: "5", status: "completed" } }]],
    ["listAudienceNotifications", [{ query: { limit: "5", unread: "true" } }]],
    [
      "searchAudienceUsers",
      [
        { body: {} },
        {
          body: {
            filter: {
              metrics: { points: { min: 0 } },
              createdAfter: "2020-01-01",
              any: [
                { gte: [{ var: "lastActiveAt" }, "2020-01-01T00:00:00Z"] },
                { in: [{ var: "customFields.shirt" }, ["S", "M"]] },
              ],
            },
            fields: ["userId", "metrics.points", "inventory.badges"],
            sort: [{ field: "createdAt", order: "desc" }],
            limit: 5,
          },
        },
        { body: { filter: { userIds: ["somebody", "nobody"] } } },
      ],
    ],
    ...(await exportExamples(world)),
    ["getUserData", [{ params: { userId: "somebody" } }]],
    ["importAudienceUsers", [{ body: { userId: "somebody", displayName: "Some" } }]],
    ["listAudienceProfiles", [{ query: { user_ids: "somebody,nobody" } }]],
    ["updateAudienceProfiles", [{ body: { updates: [update] } }, { body: [update] }]],
    ["getSpaceProfiles", [{}, { query: { user_ids: "somebody,nobody" }, headers: service }]],
    ["listSpaceTransactions", [{ query: { user_id: "somebody" }, headers: service }]],
    [
      "listSpaceChallenges",
      [{ query: { limit: "1" } }, { query: { user_ids: "somebody" }, headers: service }],
    ],
    ["listOwnVotes", [{ query: { event_id: ids.event } }]],
    ["listSpaceNotifications", [{ query: { user_ids: "somebody" }, headers: service }]],
    [
      "putSpaceProfiles",
      [
        { body: { data: { displayName: "Sam" } } },
        { body: [{ user_id: "somebody", data: { displayName: "Some" } }], headers: service },
      ],
    ],
  ];
}

/** A bulk request that was accepted. */
async function acceptedBatch(world: TestPlatform): Promise<string> {
  const call = await backEnd(world);
  const { json } = await call("/v1/api/audience/internal/actions/bulk", { body: bulkActions[1]?.body });
  return json.data.batchId;
}

/** A notification that a user has not read. */
async function unreadNotification(world: TestPlatform): Promise<Partial<Example>> {
  const fan = await world.fan("Uma");
  for (const outcome of ["exact", "right", "right"]) await fan.act("prediction", { outcome });
  const { json } = await world.call("/api/loyalty/notifications", { token: fan.token });
  return {
    params: { notificationId: json.data[0].id },
    headers: { authorization: `Bearer ${fan.token}` },
  };
}
