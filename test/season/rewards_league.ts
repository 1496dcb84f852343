/** A league whose rewards use all of the engine: streaks, a monthly challenge, a ladder, expiring points, limits, coupons. */

import type { Seed } from "../../lib/fans/directory/mod.ts";
import { eventId, leagueIds } from "./league.ts";

/** Time zone of days, weeks and months: clocks change in March and October. */
export const leagueZone = "Europe/London";
/** Rewards of the rules and their bounds. */
export const rewardOf = {
  exact: 3,
  right: 1,
  coinsForExact: 2,
  coinPrice: 3,
  streakWeeks: 3,
  streak: 5,
  weeklyMax: 2,
  earlyMax: 6,
  exactsOfMonth: 5,
  monthly: 10,
  coinsOfMonth: 4,
} as const;
/** Lifetime of coins: calendar days in the zone first, then elapsed time. */
export const coinsLast = { days: 28, hours: 5, minutes: 7 } as const;
/** The rungs of the ladder of points, with the points and coins that they give. */
export const rungs = [
  { id: "bronze", threshold: 12, points: 7, coins: 0, isCoupon: false, badge: null },
  { id: "silver", threshold: 40, points: 0, coins: 3, isCoupon: true, badge: null },
  { id: "gold", threshold: 90, points: 2, coins: 1, isCoupon: false, badge: "golden" },
] as const;
/** The challenge of a month, and its mission. */
export const monthly = {
  challenge: "1e000000-0000-4000-8000-000000000001",
  mission: "1f000000-0000-4000-8000-000000000001",
} as const;

const outcome = { var: "data.outcome" };

function metric(metricId: string, metricQuantity: number): object {
  return { type: "metric", metricId, metricQuantity };
}

function rule(
  id: string,
  action: string,
  metrics: Readonly<Record<string, number>>,
  more: object = {},
): object {
  const effects = Object.entries(metrics).map(([metricId, quantity]) => metric(metricId, quantity));
  return { id, trigger: { action }, effects, ...more };
}

const isExact = { eq: [outcome, "exact"] };
const week = { calendar: "week" };
const day = { calendar: "day" };

/** The loyalty configuration. */
export const rewards: object = {
  timeZone: leagueZone,
  metrics: [
    { id: "points", title: "Points" },
    { id: "coins", title: "Coins", lots: { expires: { after: coinsLast } } },
    { id: "visits", title: "Visits" },
    { id: "early", title: "Early" },
  ],
  inventory: [{ id: "badges", title: "Badges", items: [{ id: "golden", title: "Golden" }] }],
  coupons: [{ id: "jersey", title: "A jersey", type: "unique", poolId: "jerseys" }],
  codePools: [{ id: "jerseys", title: "Jerseys" }],
  actions: [
    { name: "prediction", data: { eventId: "string", match: "string", outcome: "string" } },
    { name: "arrival" },
    { name: "purchase" },
  ],
  rules: [
    rule("a-coins", "prediction", { coins: rewardOf.coinsForExact }, { when: isExact }),
    rule("b-exact", "prediction", { points: rewardOf.exact }, { when: isExact, priority: -1 }),
    rule("c-right", "prediction", { points: rewardOf.right }, { when: { eq: [outcome, "right"] } }),
    rule(
      "d-streak",
      "prediction",
      { points: rewardOf.streak },
      {
        when: { gte: [{ streak: { action: "prediction", unit: "week" } }, rewardOf.streakWeeks] },
        limits: [{ per: "user", max: 1, window: week }],
      },
    ),
    rule(
      "e-visits",
      "prediction",
      { visits: 1 },
      { limits: [{ per: "user", max: rewardOf.weeklyMax, window: week }] },
    ),
    rule(
      "f-early",
      "arrival",
      { early: 1 },
      {
        limits: [
          { per: "user", max: 1, window: day },
          { per: "global", max: rewardOf.earlyMax, window: day },
        ],
      },
    ),
    rule("g-purchase", "purchase", { coins: -rewardOf.coinPrice }),
    {
      ...rule("h-month", "", { coins: rewardOf.coinsOfMonth }),
      trigger: { challengeCompleted: monthly.challenge },
    },
  ],
  challenges: [
    {
      id: monthly.challenge,
      title: "Five exact scores in a month",
      recurrence: "onExpiration",
      period: "month",
      missions: [
        {
          id: monthly.mission,
          title: "Five exact scores",
          rule: { action: "prediction", when: isExact, count: rewardOf.exactsOfMonth },
        },
      ],
      rewards: [metric("points", rewardOf.monthly)],
    },
  ],
  milestones: [
    {
      id: "ladder",
      title: "Ladder",
      metricId: "points",
      milestones: rungs.map(({ id, threshold, points, coins, isCoupon, badge }) => ({
        id,
        title: id,
        threshold,
        rewards: [
          ...(points === 0 ? [] : [metric("points", points)]),
          ...(coins === 0 ? [] : [metric("coins", coins)]),
          ...(badge === null
            ? []
            : [{ type: "inventory", inventorySetId: "badges", inventoryItemId: badge }]),
          ...(isCoupon ? [{ type: "coupon", couponId: "jersey" }] : []),
        ],
      })),
    },
  ],
};

const of = (metricId: string): object => ({ type: "metric", metricId });
/** Keeps all seasons of boards, and leaves time to recover the work of a dead process. */
const retention = { keepSeasons: 60, graceMs: 2 * 86_400_000 };

const boards = [
  { id: "overall", source: of("points") },
  { id: "coins", source: of("coins"), rankStyle: "ordinal" },
  { id: "exacts", source: { type: "action", action: "prediction", when: isExact, amount: 1 }, shards: 4 },
  {
    id: "monthly",
    source: of("points"),
    shards: 8,
    seasons: { type: "monthly", timeZone: leagueZone },
    ...retention,
  },
  {
    id: "weekly",
    source: of("points"),
    rankStyle: "dense",
    seasons: { type: "weekly", timeZone: leagueZone },
    ...retention,
  },
];

/** The directory of a league with so many matchdays. */
export function rewardsSeed(matchdays: readonly number[]): Seed {
  const { organisation, space, project } = leagueIds;
  return {
    organisations: [{ id: organisation, name: "League" }],
    spaces: [{ id: space, organisationId: organisation, name: "Fans of the league" }],
    projects: [
      {
        id: project,
        spaceId: space,
        organisationId: organisation,
        name: "Predictions",
        settings: { leaderboards: boards },
      },
    ],
    events: matchdays.map(matchday => ({
      id: eventId(matchday),
      projectId: project,
      name: `Matchday ${matchday}`,
      state: "past",
      startAt: 1_720_000_000,
      settings: {
        leaderboards: [
          { id: `round_${matchday}`, source: of("points") },
          { id: "coins", source: of("coins"), rankStyle: "dense" },
        ],
      },
    })),
    loyalty: { [space]: rewards },
  };
}
