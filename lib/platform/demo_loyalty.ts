import { uuid } from "../auth/crypto/mod.ts";
import type { RandomBytes } from "../auth/mod.ts";

/** Number of codes in the pool of the demo. */
export const demoCodesCount = 100;

/** The loyalty configuration of the demo, which is the example of the README. */
export const demoLoyalty: unknown = {
  timeZone: "Europe/Madrid",
  metrics: [{ id: "points", title: "Points", lots: { expires: { after: { months: 12 } } } }],
  inventory: [
    {
      id: "badges",
      title: "Badges",
      items: [
        { id: "oracle", title: "Oracle" },
        { id: "regular", title: "Regular" },
      ],
    },
  ],
  milestones: [
    {
      id: "level",
      title: "Level",
      metricId: "points",
      measure: "earned",
      isTier: true,
      milestones: [
        {
          id: "bronze",
          title: "Bronze",
          threshold: 10,
          notification: { display: "toast", title: "Bronze!", message: "You are on the ladder." },
        },
        {
          id: "silver",
          title: "Silver",
          threshold: 50,
          rewards: [{ type: "coupon", couponId: "scarf" }],
          notification: {
            display: "modal",
            title: "Silver!",
            message: "The fan shop has something for you.",
          },
        },
      ],
    },
  ],
  codePools: [{ id: "shop", title: "Codes of the fan shop" }],
  coupons: [
    {
      id: "scarf",
      title: "A scarf at half price",
      link: "https://shop.example/scarf",
      type: "unique",
      poolId: "shop",
      showOnNotification: true,
      expiresAfter: { days: 30 },
    },
  ],
  actions: [
    {
      name: "prediction",
      clientReportable: true,
      data: { eventId: "string", matchId: "string", home: "number", away: "number" },
    },
    { name: "outcome", data: { eventId: "string", matchId: "string", outcome: "string" } },
    { name: "share", clientReportable: true },
    { name: "vote", clientReportable: true, data: { elementId: "string", option: "string" } },
  ],
  rules: [
    {
      id: "exact-score",
      trigger: { action: "outcome" },
      when: { eq: [{ var: "data.outcome" }, "exact"] },
      limits: [{ per: "user", by: { var: "data.matchId" }, max: 1 }],
      effects: [{ type: "metric", metricId: "points", metricQuantity: 3 }],
    },
    {
      id: "right-outcome",
      trigger: { action: "outcome" },
      when: { eq: [{ var: "data.outcome" }, "right"] },
      limits: [{ per: "user", by: { var: "data.matchId" }, max: 1 }],
      effects: [{ type: "metric", metricId: "points", metricQuantity: 1 }],
    },
    {
      id: "shared",
      trigger: { action: "share" },
      limits: [{ per: "user", max: 3, window: { calendar: "day" } }],
      effects: [{ type: "metric", metricId: "points", metricQuantity: 1 }],
    },
    {
      id: "poll-vote",
      trigger: { action: "vote" },
      when: { eq: [{ var: "element.type" }, "poll"] },
      effects: [{ type: "metric", metricId: "points", metricQuantity: 1 }],
    },
    {
      id: "right-answer",
      trigger: { action: "vote" },
      when: { eq: [{ var: "element.isRight" }, true] },
      effects: [
        { type: "metric", metricId: "points", metricQuantity: { max: [{ var: "element.points" }, 1] } },
      ],
    },
    {
      id: "three-days-running",
      trigger: { action: "prediction" },
      when: { gte: [{ streak: { action: "prediction", unit: "day" } }, 3] },
      limits: [{ per: "user", max: 1, window: { calendar: "week" } }],
      effects: [
        { type: "inventory", inventorySetId: "badges", inventoryItemId: "regular" },
        {
          type: "metric",
          metricId: "points",
          metricQuantity: { min: [{ streak: { action: "prediction", unit: "day" } }, 7] },
        },
      ],
    },
  ],
  challenges: [
    {
      id: "5b0f4c0e-6a41-4f0e-9d3c-2f6c1f0a7e11",
      title: "First exact score",
      notification: { display: "toast", title: "Oracle!", message: "You called the exact score." },
      missions: [
        {
          id: "0c2d8a36-51f7-4d0a-8a7e-94b3f2a1c6d2",
          title: "Predict one exact score",
          rule: { action: "outcome", when: { eq: [{ var: "data.outcome" }, "exact"] } },
        },
      ],
      rewards: [
        { type: "metric", metricId: "points", metricQuantity: 10 },
        { type: "inventory", inventorySetId: "badges", inventoryItemId: "oracle" },
      ],
    },
    {
      id: "9e7b1d54-3c28-4b6f-a1d5-70c4e8f2b933",
      title: "Three predictions a day",
      recurrence: "onExpiration",
      period: "day",
      missions: [
        {
          id: "4a6c0f9b-d813-4e57-b2a0-1d9f5e7c3b84",
          title: "Predict three matches",
          rule: { action: "prediction", distinct: { var: "data.matchId" }, count: 3 },
        },
      ],
      rewards: [{ type: "metric", metricId: "points", metricQuantity: 5 }],
    },
  ],
  products: [
    {
      id: "mug",
      title: "A mug of the club",
      category: "merchandise",
      prices: [{ currency: "points", amount: 12 }],
      stock: { type: "limited", quantity: 20 },
      limits: { perUser: 1, window: "day" },
      fulfilment: { type: "manual" },
    },
    {
      id: "half-price-scarf",
      title: "A scarf at half price",
      prices: [{ currency: "points", amount: 5 }],
      fulfilment: { type: "coupon", couponId: "scarf" },
    },
  ],
};

/** Codes for the coupons of the demo. */
export function demoCodes(random: RandomBytes): readonly string[] {
  return Array.from({ length: demoCodesCount }, () => uuid(random).slice(0, 8).toUpperCase());
}
