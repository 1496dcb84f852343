/** A platform with one organisation, space, project and event, and short ways to call it. */

import assert from "node:assert/strict";
import { createMemoryBlobs } from "../../adapters/memory/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { type Outbound, OutboundError } from "../../lib/base/outbound/outbound.ts";
import {
  createFanClient,
  type FanClient,
  identity,
  leaderboards,
  loyalty as loyaltyArea,
} from "../../lib/client/mod.ts";
import type { Seed } from "../../lib/fans/directory/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { ExternalIds } from "../../lib/fans/identity/external_ids.ts";
import { createPlatform, type Platform, type PlatformOptions, silentLogger } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { createTestClock } from "./clock.ts";
import { TestIssuer } from "./issuer.ts";
import { assertJsonApi } from "./json_api.ts";
import { quickKernels } from "./kernels.ts";
import { ReplySchemas } from "./reply_schemas.ts";
import type { OpenStore } from "./stores.ts";

/** Ids of the records that every test platform has. */
export const ids = {
  organisation: "0a000000-0000-4000-8000-000000000001",
  space: "0b000000-0000-4000-8000-000000000001",
  project: "0c000000-0000-4000-8000-000000000001",
  event: "0d000000-0000-4000-8000-000000000001",
  otherOrganisation: "0a000000-0000-4000-8000-000000000002",
  otherSpace: "0b000000-0000-4000-8000-000000000002",
  otherProject: "0c000000-0000-4000-8000-000000000002",
} as const;

/** The Host of the other organisation's space. */
export const otherHost = "other.example";

export const testSecret: MasterSecret = new MasterSecret(
  "a master secret for tests, long enough to be accepted",
);

/** Seals the external ids of users that tests store. */
export const externalIds: ExternalIds = new ExternalIds(testSecret);

/** A network in which every backend of a workflow has ended its dialogue, and that has nothing to read. */
const emptyBackends: Outbound = {
  get: () => Promise.reject(new OutboundError("connection", "there is no such server")),
  post: async () => ({
    status: 200,
    mediaType: "application/json",
    retryAfterMs: null,
    text: '{"blocks":[]}',
  }),
};

/** More exports than any test begins: none completes while the clock stands still. */
export const openTestExportsMax = 10_000;

const metricSource = { type: "metric", metricId: "points" };
const outcome = { var: "data.outcome" };

type Part = Readonly<Record<string, unknown>>;

/** A loyalty configuration as it is written. */
export interface LoyaltySample {
  readonly metrics: readonly Part[];
  readonly inventory: readonly Part[];
  readonly coupons: readonly Part[];
  readonly codePools: readonly Part[];
  readonly actions: readonly Part[];
  readonly rules: readonly Part[];
  readonly products: readonly Part[];
  readonly challenges: readonly (Part & { readonly missions: readonly (Part & { readonly rule: Part })[] })[];
}

/** A loyalty configuration with two metrics, a badge, a coupon, some rules and one challenge of two missions. */
export const loyalty: LoyaltySample = {
  metrics: [
    { id: "points", title: "Points" },
    { id: "energy", title: "Energy", defaultValue: 5, minimumValue: 0, maximumValue: 7 },
  ],
  inventory: [{ id: "badges", title: "Badges", items: [{ id: "oracle", title: "Oracle" }] }],
  coupons: [
    {
      id: "drink",
      title: "A free drink",
      link: "https://bar.example/drink",
      type: "unique",
      poolId: "drinks",
    },
  ],
  codePools: [{ id: "drinks", title: "Drinks" }],
  products: [
    {
      id: "poster",
      title: "A poster",
      prices: [{ currency: "points", amount: 1 }],
      fulfilment: { type: "manual" },
    },
  ],
  actions: [
    { name: "prediction", clientReportable: true },
    { name: "cheer", clientReportable: true },
    { name: "rest", clientReportable: true },
    { name: "adjust", clientReportable: false },
  ],
  rules: [
    {
      id: "exact",
      trigger: { action: "prediction" },
      when: { eq: [outcome, "exact"] },
      effects: [{ type: "metric", metricId: "points", metricQuantity: 3 }],
    },
    {
      id: "right",
      trigger: { action: "prediction" },
      when: { eq: [outcome, "right"] },
      effects: [{ type: "metric", metricId: "points", metricQuantity: 1 }],
    },
    {
      id: "rest",
      trigger: { action: "rest" },
      effects: [{ type: "metric", metricId: "energy", metricQuantity: 2 }],
    },
    { id: "cheer", trigger: { action: "cheer" }, effects: [{ type: "coupon", couponId: "drink" }] },
    {
      id: "adjust",
      trigger: { action: "adjust" },
      effects: [{ type: "metric", metricId: "points", metricQuantity: -2 }],
    },
  ],
  challenges: [
    {
      id: "0e000000-0000-4000-8000-000000000001",
      title: "Oracle",
      notification: { display: "toast", title: "Oracle!", message: "Three predictions, one exact." },
      missions: [
        {
          id: "0f000000-0000-4000-8000-000000000001",
          title: "Three predictions",
          rule: { action: "prediction", count: 3 },
        },
        {
          id: "0f000000-0000-4000-8000-000000000002",
          title: "One exact",
          notification: { display: "toast", title: "Exact!", message: "You called it." },
          rule: { action: "prediction", when: { eq: [outcome, "exact"] } },
        },
      ],
      rewards: [
        { type: "metric", metricId: "points", metricQuantity: 10 },
        { type: "inventory", inventorySetId: "badges", inventoryItemId: "oracle" },
      ],
    },
  ],
};

/** The hosted identity provider of the project and the space. */
const hosted = { issuer: "https://login.example", audience: "app-1" };

/** The directory that every test platform starts with. */
export const seed: Seed = {
  organisations: [
    {
      id: ids.organisation,
      name: "Club",
      settings: {
        audience: {
          customFields: {
            shirt: { type: "string", enum: ["S", "M", "L"] },
            member: { type: "boolean", readOnly: true },
            goals: { type: "number" },
          },
        },
        exports: { webhook: { url: "https://crm.example/exports" } },
      },
    },
    { id: ids.otherOrganisation, name: "Rival" },
  ],
  spaces: [
    {
      id: ids.space,
      organisationId: ids.organisation,
      name: "Club space",
      settings: { issuer: hosted, defaultProjectId: ids.project },
    },
    { id: ids.otherSpace, organisationId: ids.otherOrganisation, name: "Rival space", domain: otherHost },
  ],
  projects: [
    {
      id: ids.project,
      spaceId: ids.space,
      organisationId: ids.organisation,
      name: "Club app",
      settings: {
        leaderboards: [
          { id: "overall", source: metricSource },
          { id: "speed", order: "asc", operator: "best" },
          { id: "goals" },
          { id: "laps", operator: "sum" },
          {
            id: "exacts",
            source: { type: "action", action: "prediction", when: { eq: [outcome, "exact"] } },
          },
        ],
        eventLeaderboards: [
          { id: "round_1", source: metricSource },
          { id: "laps", operator: "sum" },
        ],
        location: { unknownLocation: "allow" },
        identity: {
          emailVerification: "optional",
          codeLogin: "on",
          hostedIdp: { ...hosted, login: { returnOrigins: ["https://app.example"] } },
          socialTwo: { style: "idToken", ...hosted, audience: "social-1" },
        },
      },
    },
    {
      id: ids.otherProject,
      spaceId: ids.otherSpace,
      organisationId: ids.otherOrganisation,
      name: "Rival app",
    },
  ],
  events: [
    { id: ids.event, projectId: ids.project, name: "Match", state: "current", startAt: 1_750_000_000 },
  ],
  loyalty: { [ids.space]: loyalty },
};

/** A platform under test. */
export interface TestPlatform {
  readonly platform: Platform;
  readonly store: Store;
  readonly clock: { now(): number; advance(ms: number): void };
  /** The hosted identity provider, which is reached in memory unless the options say otherwise. */
  readonly login: TestIssuer;
  /** Calls a path of the platform. A body is sent as JSON, with POST unless the options name a method. */
  call(path: string, options?: CallOptions): Promise<Answer>;
  /** Creates a noLogin user and signs it in to the space. */
  fan(username: string): Promise<Fan>;
  dispose(): Promise<void>;
}

/** Options of a call. @default a plain GET */
export interface CallOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly host?: string;
  /** Address of the client. */
  readonly address?: string;
}

/** An answer whose body has been read: parsed where it is JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: assertions read members that only they know
  readonly json: any;
}

const fanAreas = { identity, leaderboards, loyalty: loyaltyArea };

/** A signed-in user. */
export interface Fan {
  /** The user's app. */
  readonly client: FanClient<typeof fanAreas>;
  readonly userId: string;
  readonly externalId: string;
  readonly token: string;
  act(action: string, data?: Readonly<Record<string, unknown>>, actionId?: string): Promise<Answer>;
  profile(): Promise<Answer["json"]>;
}

/** Opens a platform over a fresh store with the common seed. */
export async function openPlatform(
  open: OpenStore,
  {
    seed: document = seed,
    startAt,
    outbound = emptyBackends,
    login = new TestIssuer(hosted.issuer),
    ...options
  }: Omit<Partial<PlatformOptions>, "outbound"> & {
    readonly seed?: Seed;
    /** Null: the platform calls no other servers. */
    readonly outbound?: Outbound | null | undefined;
    /** Unix ms. */
    readonly startAt?: number;
    readonly login?: TestIssuer;
  } = {},
): Promise<TestPlatform> {
  const clock = createTestClock(startAt);
  const store = await open(clock.now);
  await seedDirectory(store, document, { clock: clock.now });
  const replySchemas = new ReplySchemas();
  const platform = await createPlatform({
    store,
    secret: testSecret,
    passwordKernels: quickKernels(),
    limiter: "off",
    logger: silentLogger,
    clock: clock.now,
    defaultSpaceId: ids.space,
    blobs: createMemoryBlobs(),
    ...(outbound === null ? {} : { outbound }),
    control: createControl,
    ...options,
    http: { inspect: replySchemas.inspect, ...options.http },
    exports: { openMax: openTestExportsMax, ...options.exports },
    identity: { remote: { fetch: login.fetch }, ...options.identity },
  });
  const call: TestPlatform["call"] = async (path, request) => {
    const answer = await callHandler(platform.fetch, path, request);
    replySchemas.assertNone();
    return answer;
  };
  return {
    platform,
    store,
    clock,
    login,
    call,
    fan: username => signIn(username, { platform, clock, call }),
    async dispose() {
      await platform.close();
      await store[Symbol.asyncDispose]();
    },
  };
}

async function signIn(
  username: string,
  { platform, clock, call }: Pick<TestPlatform, "platform" | "clock" | "call">,
): Promise<Fan> {
  const client = createFanClient({
    url: "http://club.example",
    projectId: ids.project,
    organisationId: ids.organisation,
    areas: fanAreas,
    fetch: (address, init) => platform.fetch(new Request(address, init)),
    clock: clock.now,
    attemptsMax: 1,
  });
  const { userId, externalId } =
    (await client.session.register({ provider: "noLogin", username })) ?? assert.fail();
  const { authorization = "" } = await client.session.headers("s");
  const token = authorization.slice("Bearer ".length);
  return {
    client,
    userId,
    externalId,
    token,
    act: (action, data = {}, actionId) =>
      call("/api/loyalty/action", {
        token,
        body: { action, data, ...(actionId === undefined ? {} : { actionId }) },
      }),
    profile: async () => (await call("/api/loyalty/profile", { token })).json.data,
  };
}

async function callHandler(
  handler: Platform["fetch"],
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const { body, token, headers, host = "club.example", address } = options;
  const isRaw = typeof body === "string";
  const request = new Request(`http://${host}${path}`, {
    method: options.method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
  });
  const response = await handler(request, address === undefined ? {} : { address });
  const text = await response.text();
  assertJsonApi(path, response.headers, text);
  const isJson = response.headers.get("content-type")?.match(/[/+]json/) != null;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== "" ? JSON.parse(text) : undefined,
  };
}
