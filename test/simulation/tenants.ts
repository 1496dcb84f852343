/** Two tenants alike: the same names, the same ids of users, and each a word of its own in all that it writes. */

import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { ids, otherHost } from "../support/platform.ts";
import { issuer } from "./openid_provider.ts";

/** A tenant of the simulated deployment. */
export interface Tenant {
  readonly name: string;
  /** In every text that this tenant writes, and in no other. */
  readonly mark: string;
  readonly organisationId: string;
  readonly spaceId: string;
  readonly projectId: string;
  readonly host: string;
}

/** The tenants. */
export const tenants: readonly Tenant[] = [
  {
    name: "a",
    mark: "quokka",
    organisationId: ids.organisation,
    spaceId: ids.space,
    projectId: ids.project,
    host: "club.example",
  },
  {
    name: "b",
    mark: "zebra",
    organisationId: ids.otherOrganisation,
    spaceId: ids.otherSpace,
    projectId: ids.otherProject,
    host: otherHost,
  },
];

/** Changes of users that a service of each tenant wants. */
export const announced: readonly string[] = ["actionRewarded", "redeemed"];
/** Stock of the product that sells out. */
export const scarfStock = 2;
/** Price of a scarf and of a drink, in points. */
export const prices: Readonly<Record<string, number>> = { scarf: 3, drink: 2 };
/** Points and energy that each action gives. */
export const gains: Readonly<Record<string, { readonly points?: number; readonly energy?: number }>> = {
  cheer: { points: 1 },
  vote: { points: 2 },
  guess: { points: 4 },
  visit: { points: 3 },
  rest: { energy: 5 },
};
/** Most points that users get for visits of one month. */
export const visitsCounted = 3;
/** Time after which energy expires, in ms. */
export const energyMs = 86_400_000;

const points = (metricQuantity: number) => ({ type: "metric", metricId: "points", metricQuantity });

/** Returns the loyalty configuration of a tenant. */
export function loyaltyOf({ mark }: Tenant) {
  return {
    metrics: [
      { id: "points", title: "Points" },
      { id: "energy", title: "Energy", lots: { expires: { after: { days: 1 } } } },
    ],
    actions: [
      { name: "cheer", clientReportable: true },
      { name: "vote", clientReportable: true },
      { name: "guess", clientReportable: true },
      { name: "visit" },
      { name: "rest" },
    ],
    rules: [
      ...(["cheer", "vote", "guess"] as const).map(action => ({
        id: action,
        trigger: { action },
        effects: [points(gains[action]?.points ?? 0)],
      })),
      {
        id: "visit",
        trigger: { action: "visit" },
        limits: [{ per: "user", max: visitsCounted }],
        effects: [points(3)],
      },
      {
        id: "rest",
        trigger: { action: "rest" },
        effects: [{ type: "metric", metricId: "energy", metricQuantity: 5 }],
      },
    ],
    coupons: [{ id: "drink", title: `A drink for ${mark}s`, type: "unique", poolId: "drinks" }],
    codePools: [{ id: "drinks", title: "Drinks" }],
    products: [
      {
        id: "scarf",
        title: "Scarf",
        prices: [{ currency: "points", amount: prices.scarf }],
        stock: { type: "limited", quantity: scarfStock },
        fulfilment: { type: "manual" },
      },
      {
        id: "drink",
        title: "Drink",
        prices: [{ currency: "points", amount: prices.drink }],
        fulfilment: { type: "coupon", couponId: "drink" },
      },
    ],
    webhooks: [{ id: "crm", url: `https://${mark}.example/hook`, events: announced }],
  };
}

/** Creates both tenants. */
export async function seedTenants(store: Store, clock: () => number): Promise<void> {
  await seedDirectory(
    store,
    {
      organisations: tenants.map(({ organisationId: id, mark }) => ({
        id,
        name: "Club",
        settings: { exports: { notify: { email: `ops@${mark}.example` } } },
      })),
      spaces: tenants.map(({ spaceId: id, organisationId, projectId: defaultProjectId, host, name }) => ({
        ...{ id, organisationId, name: "Fans", settings: { defaultProjectId } },
        ...(name === "a" ? {} : { domain: host }),
      })),
      projects: tenants.map(({ projectId: id, spaceId, organisationId, mark }) => ({
        ...{ id, spaceId, organisationId, name: "App" },
        settings: {
          leaderboards: [
            { id: "overall", source: { type: "metric", metricId: "points" } },
            { id: "cheers", source: { type: "action", action: "cheer" } },
            { id: "manual", operator: "sum" },
          ],
          identity: {
            emailVerification: "off",
            codeLogin: "on",
            hostedIdp: {
              issuer,
              audience: `app-of-${mark}`,
              login: { returnOrigins: [`https://${mark}.example`] },
            },
          },
        },
      })),
      events: [],
      loyalty: Object.fromEntries(tenants.map(tenant => [tenant.spaceId, loyaltyOf(tenant)])),
    },
    { clock },
  );
}
