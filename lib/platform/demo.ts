/** Demo data for a first start with an empty store. */

import { systemRandom, uuid } from "../auth/crypto/mod.ts";
import { permissions as everyPermission, type RandomBytes } from "../auth/mod.ts";
import type { Seed } from "../fans/directory/mod.ts";
import { decide, type Store } from "../storage/mod.ts";
import { platformPartition } from "../storage/names.ts";
import type { Platform } from "./platform.ts";
import { seedPlatform } from "./seed.ts";

/** Ids and credentials of the demo, for scripts. */
export interface Demo extends DemoIds {
  readonly baseUrl: string;
  readonly leaderboardId: string;
  /** Null if an earlier start created the demo: the secret is shown once. */
  readonly apiKey: { readonly key: string; readonly secret: string } | null;
  readonly operatorToken: string | null;
  readonly clientToken: string | null;
  readonly serviceToken: string | null;
}

/** Ids of the demo's records, stored for later starts. */
export interface DemoIds {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly projectId: string;
  readonly eventId: string;
}

/** Options of {@linkcode seedDemo}. */
export interface DemoOptions {
  readonly store: Store;
  readonly random: RandomBytes;
  /** Unix ms. */
  readonly clock: () => number;
}

/** Creates the demo's records unless the store has them, and returns their ids. */
export async function seedDemo({
  store,
  random,
  clock,
}: DemoOptions): Promise<DemoIds & { readonly isNew: boolean }> {
  const ids: DemoIds = {
    organisationId: uuid(random),
    spaceId: uuid(random),
    projectId: uuid(random),
    eventId: uuid(random),
  };
  const made = JSON.stringify(ids);
  const kept = await keptInDemo(store, "ids", made);
  const isNew = kept === made;
  if (isNew) await seedPlatform(store, demoSeed(ids, Math.floor(clock() / 1_000)), { clock });
  return { ...(JSON.parse(kept) as DemoIds), isNew };
}

/** Returns what the demo keeps under a key: `made` where it has nothing yet. */
export async function keptInDemo(store: Store, key: string, made: string): Promise<string> {
  return await decide(store, platformPartition("demo"), {
    reads: [{ type: "record", key }],
    idempotent: true,
    apply: ([stored]) => ({
      writes: stored === null ? [{ type: "put", key, value: made }] : [],
      answer: stored?.value ?? made,
    }),
  });
}

/** Returns the end of the show that runs at a time, in Unix ms: `endsAt` where none does, as one begins then. */
export async function demoShowEnd(
  store: Store,
  { now, endsAt }: { readonly now: number; readonly endsAt: number },
): Promise<number> {
  const key = "show";
  return await decide(store, platformPartition("demo"), {
    reads: [{ type: "record", key }],
    apply([stored]) {
      const running = Number(stored?.value ?? 0);
      if (running > now) return { writes: [], answer: running };
      return { writes: [{ type: "put", key, value: String(endsAt) }], answer: endsAt };
    },
  });
}

/**
 * Issues the demo's credentials and returns them with its ids. `baseUrl` is the address of the platform, without a slash at its
 * end.
 */
export async function describeDemo(
  platform: Platform,
  { ids, baseUrl }: { readonly ids: Awaited<ReturnType<typeof seedDemo>>; readonly baseUrl: string },
): Promise<Demo> {
  const { organisationId, spaceId, projectId, eventId, isNew } = ids;
  const common = { baseUrl, organisationId, spaceId, projectId, eventId, leaderboardId: "overall" };
  const none = { apiKey: null, operatorToken: null, clientToken: null, serviceToken: null };
  if (!isNew) return { ...common, ...none };
  const apiKey = await platform.apiKeys.create({
    organisationId,
    name: "Demo",
    permissions: everyPermission.filter(permission => permission !== "keys:write"),
  });
  const space = await platform.directory.space(spaceId);
  const { key, secret, permissions } = apiKey;
  const token =
    space === null
      ? null
      : await platform.spaceTokens.issue(space, {
          kind: "service",
          keyId: key,
          organisationId,
          spaceId,
          permissions,
        });
  const clientToken = await platform.clientTokens.issue(projectId);
  const operator = await platform.authors.findOrCreate("operator@demo.example", {
    name: "Demo operator",
    operator: true,
  });
  const { token: operatorToken } = await platform.authors.createToken({ userId: operator.id, name: "Demo" });
  await platform.loyalty.codePools.add({ organisationId, spaceId, poolId: "shop" }, demoCodes(systemRandom));
  await useCatalogue(platform, { ...common, operatorToken });
  return {
    ...common,
    ...none,
    apiKey: { key, secret },
    clientToken,
    operatorToken,
    serviceToken: token?.accessToken ?? null,
  };
}

/** Lets the demo's project use the catalogue in two languages, as an author does it. Does nothing where no authors are served. */
async function useCatalogue(
  platform: Platform,
  {
    baseUrl,
    spaceId,
    projectId,
    operatorToken,
  }: Pick<Demo, "baseUrl" | "spaceId" | "projectId" | "operatorToken">,
): Promise<void> {
  async function call(method: string, path: string, data?: object) {
    const headers = { authorization: `Bearer ${operatorToken}`, "content-type": "application/vnd.api+json" };
    const body = data === undefined ? null : JSON.stringify({ data });
    const request = new Request(`${baseUrl}/api/v2${path}`, { method, headers, body });
    const response = await platform.fetch(request);
    const answer = (await response.json().catch(() => null)) as { readonly data?: Answered } | null;
    return answer?.data ?? null;
  }
  interface Answered {
    readonly id: string;
    readonly links: { readonly self: string };
  }
  const space = await call("GET", `/spaces/${spaceId}`);
  if (space === null) return;
  const [root] = space.links.self.split("/api/v2/");
  const app = await call("POST", "/apps", {
    type: "apps",
    attributes: { spec_url: `${root}/apps/catalogue/1.0.0/spec.json` },
    relationships: { space: { data: { type: "spaces", id: spaceId } } },
  });
  if (app === null) throw new Error("Cannot register the catalogue for the demo");
  await call("PATCH", `/projects/${projectId}/relationships/app`, { type: "apps", id: app.id });
  const attributes = { locales: ["en", "de"] };
  await call("PATCH", `/projects/${projectId}`, { type: "projects", id: projectId, attributes });
}

/** Returns curl commands for a POSIX shell that show the main features. */
export function demoWalk(demo: Demo): string {
  const { baseUrl, spaceId, projectId, eventId, apiKey, serviceToken } = demo;
  const selector = `"projectId":"${projectId}","strategy":"simplified","provider":"noLogin"`;
  const outcome =
    serviceToken === null
      ? []
      : [
          `USER_ID=$(echo "$FAN" | sed 's/.*"userId":"\\([^"]*\\)".*/\\1/')`,
          `curl -s -w '%{http_code}\\n' "${baseUrl}/api/loyalty/action?user_id=$USER_ID" -H 'authorization: Bearer ${serviceToken}' -H 'content-type: application/json' -d '{"action":"outcome","actionId":"outcome-1","data":{"eventId":"${eventId}","matchId":"1","outcome":"exact"}}'`,
        ];
  const lines = [
    "# 0. Names that the commands and the examples of the README use",
    `export ${demoVariables(demo)}`,
    "# 1. A fan arrives",
    `FAN=$(curl -s ${baseUrl}/v1/user -H 'content-type: application/json' -d '{${selector},"data":{"username":"Sam"}}'); echo "$FAN"`,
    "# 2. and enters the space with the signed session record",
    `RECORD=$(echo "$FAN" | sed 's/.*"data":\\({[^}]*}\\).*/\\1/')`,
    `TOKEN=$(curl -s ${baseUrl}/api/auth/token -H 'content-type: application/json' -d "{\\"type\\":\\"sessionRecord\\",\\"projectId\\":\\"${projectId}\\",\\"record\\":$RECORD}" | sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/')`,
    "# 3. predicts a match; a back end knows later what came of it, and the fan earns",
    `curl -s -w '%{http_code}\\n' ${baseUrl}/api/loyalty/action -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '{"action":"prediction","actionId":"match-1","data":{"eventId":"${eventId}","matchId":"1","home":2,"away":1}}'`,
    ...outcome,
    `curl -s -w '\\n' ${baseUrl}/api/loyalty/profile -H "authorization: Bearer $TOKEN"`,
    `curl -s -w '\\n' ${baseUrl}/api/loyalty/notifications -H "authorization: Bearer $TOKEN"`,
    `curl -s -w '\\n' ${baseUrl}/api/loyalty/history -H "authorization: Bearer $TOKEN"`,
    "# 4. and ranks: in the project, this week, and in the running event",
    `curl -s -w '\\n' ${baseUrl}/projects/${projectId}/leaderboards/overall`,
    `curl -s -w '\\n' ${baseUrl}/projects/${projectId}/leaderboards/weekly`,
    `curl -s -w '\\n' ${baseUrl}/projects/${projectId}/events/current/leaderboards/round_1`,
  ];
  const write =
    apiKey === null
      ? []
      : [
          "# 5. A back end writes a score, and reads the loyalty configuration",
          `curl -s -w '\\n' -X PUT ${baseUrl}/projects/${projectId}/leaderboards/speed/users/sam -H 'x-api-key: ${apiKey.key}' -H 'x-api-secret: ${apiKey.secret}' -H 'content-type: application/json' -d '{"score":41.5}'`,
          `curl -s -w '\\n' ${baseUrl}/api/v2/spaces/${spaceId}/loyalty -H 'x-api-key: ${apiKey.key}' -H 'x-api-secret: ${apiKey.secret}'`,
        ];
  return [...lines, ...write, ...authorWalk(demo)].join("\n");
}

/** What a producer does: an event with a poll, from its plan to its end. */
function authorWalk({ baseUrl, projectId, operatorToken }: Demo): readonly string[] {
  if (operatorToken === null) return [];
  const call = `curl -s ${baseUrl}/api/v2`;
  const fields = `-H 'authorization: Bearer ${operatorToken}' -H 'content-type: application/vnd.api+json'`;
  const idOf = (text: string): string =>
    `$(echo "${text}" | sed 's/^{"data":{"type":"[a-z]*","id":"\\([^"]*\\)".*/\\1/')`;
  const show = `{"data":{"type":"events","attributes":{"name":"Half-time show","duration":900},"relationships":{"project":{"data":{"type":"projects","id":"${projectId}"}}}}}`;
  const option = (text: string): string => `{"fields":[{"key":"text","values":{"all":"${text}"}}]}`;
  const question = `{"fields":[{"key":"question","values":{"all":"Who wins?"}}],"options":[${option("Home")},${option("Away")}]}`;
  const quoted = (text: string): string => `"${text.replaceAll('"', '\\"')}"`;
  const poll = `{"data":{"type":"elements","attributes":{"content_type":"poll","question":${question}},"relationships":{"event":{"data":{"type":"events","id":"$SHOW"}}}}}`;
  const act = (type: string, id: string, action: string): string =>
    `${call}/${type}/${id} -w '%{http_code}\\n' -X PATCH ${fields} -d ${quoted(`{"data":{"type":"${type}","id":"${id}","attributes":{"action":"${action}"}}}`)}`;
  return [
    "# 6. A producer plans a show with a poll, starts it, publishes; fans see it in the feed; the show stops",
    `ANSWER=$(${call}/events ${fields} -d '${show}'); echo "$ANSWER"`,
    `SHOW=${idOf("$ANSWER")}`,
    `ANSWER=$(${call}/elements ${fields} -d ${quoted(poll)}); echo "$ANSWER"`,
    `POLL=${idOf("$ANSWER")}`,
    act("events", "$SHOW", "start"),
    act("elements", "$POLL", "publish"),
    `curl -s -w '\\n' ${baseUrl}/events/$(echo "$SHOW" | cut -c 1-2)/$SHOW/history.json`,
    act("events", "$SHOW", "stop"),
  ];
}

function demoVariables(demo: Demo): string {
  const { baseUrl, organisationId, spaceId, projectId, eventId, apiKey, clientToken, operatorToken } = demo;
  const values = {
    GRANDSTAND_URL: baseUrl,
    GRANDSTAND_ORG: organisationId,
    GRANDSTAND_SPACE: spaceId,
    ...(apiKey === null ? {} : { GRANDSTAND_API_KEY: apiKey.key, GRANDSTAND_API_SECRET: apiKey.secret }),
    PROJECT: projectId,
    EVENT: eventId,
    ...(clientToken === null ? {} : { CLIENT_TOKEN: clientToken }),
    ...(operatorToken === null ? {} : { GRANDSTAND_TOKEN: operatorToken }),
  };
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

function demoSeed(ids: DemoIds, startAt: number): Seed {
  const { organisationId, spaceId, projectId, eventId } = ids;
  const ofPoints = { type: "metric", metricId: "points" };
  return {
    organisations: [{ id: organisationId, name: "Demo organisation" }],
    spaces: [{ id: spaceId, organisationId, name: "Demo space" }],
    projects: [
      {
        id: projectId,
        spaceId,
        organisationId,
        name: "Demo project",
        settings: {
          leaderboards: [
            { id: "overall", source: ofPoints },
            { id: "weekly", source: ofPoints, seasons: { type: "weekly", timeZone: "Europe/Madrid" } },
            { id: "speed", order: "asc", operator: "best" },
          ],
          eventLeaderboards: [{ id: "round_1", source: ofPoints }],
        },
      },
    ],
    events: [{ id: eventId, projectId, name: "Opening match", state: "current", startAt }],
    loyalty: { [spaceId]: demoLoyalty },
  };
}

export const demoCodesCount = 100;

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
    { name: "ask", clientReportable: true, data: { elementId: "string", text: "string" } },
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

export function demoCodes(random: RandomBytes): readonly string[] {
  return Array.from({ length: demoCodesCount }, () => uuid(random).slice(0, 8).toUpperCase());
}
