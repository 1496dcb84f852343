/** Every operation of the platform's OpenAPI document, with valid requests to start from. */

import { permissions } from "../../lib/auth/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { forge } from "../support/issuer.ts";
import { type Answer, ids, loyalty, seed, type TestPlatform } from "../support/platform.ts";
import { audienceExamples } from "./_audience_examples.ts";
import { BoardWriter } from "./_boards.ts";
import { controlExamples, operatorHeaders } from "./_control_examples.ts";
import {
  codesOf,
  deviceId,
  managed,
  operatedSession,
  password,
  registeredUser,
  userSession,
} from "./_example_users.ts";
import { webhookExamples } from "./_webhook_examples.ts";
import { productExamples } from "./audience/_shop.ts";

/** The error shape of an operation. */
export type FamilyName = "identity" | "problem" | "jsonApi";

/** One operation. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly family: FamilyName;
  readonly statuses: ReadonlySet<number>;
  readonly scheme: string | null;
  /** Permissions that the scheme's credentials must have. */
  readonly requires: readonly string[];
  /**
   * The role of which an access token counts in place of the scheme's credentials: `admin` of what the path names, or
   * `space:admin` or `organisation:admin`. Null where none counts.
   */
  readonly adminRole: string | null;
  /** True if it is served without credentials too. */
  readonly isOptional: boolean;
  /** True for a body of JSON; streamed bodies are files. */
  readonly hasBody: boolean;
  readonly needsBody: boolean;
  readonly queryNames: readonly string[];
  /** Header fields that every request carries beside its credentials. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A request that an operation accepts. */
export interface Example {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Hashers that only this request is accepted with, in place of those of the operation's scheme. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, { readonly schema: { readonly format?: string } }>>;
  };
  readonly responses: Readonly<Record<string, { readonly content?: unknown }>>;
}

/** Reads the operations off the document that the platform serves. */
export async function operationsOf(world: TestPlatform): Promise<readonly Operation[]> {
  const { json } = await world.call("/openapi.json");
  const paths: Record<string, Record<string, DescribedOperation>> = json.paths;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => operation(path, method, described)),
  );
}

function operation(path: string, method: string, described: DescribedOperation): Operation {
  const schemes = described.security.flatMap(entry => Object.keys(entry));
  return {
    id: described.operationId,
    method: method.toUpperCase(),
    path,
    family: familyOf(described),
    statuses: new Set(Object.keys(described.responses).map(Number)),
    scheme: schemes[0] ?? null,
    requires: described.security.flatMap(entry => Object.values(entry)).flat(),
    adminRole: described.security.flatMap(({ accessToken = [] }) => accessToken)[0] ?? null,
    isOptional: described.security.some(entry => Object.keys(entry).length === 0),
    hasBody: described.requestBody !== undefined && !isStreamed(described),
    needsBody: described.requestBody?.required === true && !isStreamed(described),
    queryNames: described.parameters.filter(parameter => parameter.in === "query").map(({ name }) => name),
    headers: described.parameters.some(({ name }) => name === "X-Platform-Org-ID")
      ? { "x-platform-org-id": ids.organisation }
      : {},
  };
}

function isStreamed({ requestBody }: DescribedOperation): boolean {
  return Object.values(requestBody?.content ?? {}).some(({ schema }) => schema.format === "binary");
}

function familyOf({ responses }: DescribedOperation): FamilyName {
  const described = JSON.stringify(responses["500"]);
  if (described.includes("IdentityError")) return "identity";
  return described.includes("JsonApiErrors") ? "jsonApi" : "problem";
}

/** A space of the organisation whose configuration may change without a loss to the examples of other operations. */
export const spareSpace = "0b000000-0000-4000-8000-0000000000ee";
const commonParams: Readonly<Record<string, string>> = {
  spaceId: spareSpace,
  projectId: ids.project,
  eventId: ids.event,
  leaderboardId: "overall",
  userId: "somebody",
  poolId: "drinks",
  prefix: ids.project.slice(0, 2),
  organisationId: ids.organisation,
};
const selector = { projectId: ids.project, strategy: "simplified" };
const configuration = {
  metrics: [{ id: "points", title: "Points", defaultValue: 1 }],
  actions: [{ name: "prediction", clientReportable: true }],
  rules: [
    {
      id: "point",
      trigger: { action: "prediction" },
      effects: [{ type: "metric", metricId: "points", metricQuantity: 3 }],
    },
  ],
  webhooks: [{ id: "crm", url: "https://crm.example/events", events: ["actionRewarded"] }],
};
const returnTo = "https://app.example/welcome";
const hosted = { ...managed, provider: "hostedIdp" };

/**
 * Valid requests by operation: most operations need none beyond the common path parameters. An operation with a body
 * that is missing here makes {@linkcode examplesFor} fail.
 */
export async function validExamples(world: TestPlatform): Promise<ReadonlyMap<string, readonly Example[]>> {
  await seedSpareSpace(world);
  const noLogin = { ...selector, provider: "noLogin" };
  const anonymous = { ...selector, provider: "anonymous" };
  const robin = await userSession(world);
  const casey = await registeredUser(world, `casey-${world.clock.now()}@example.com`);
  const code = await codesOf(world).issue(ids.project, "password", { email: casey.email, holder: "" });
  const emailCode = await codesOf(world).issue(ids.project, "email", { email: casey.email, holder: "" });
  const loginCode = await codesOf(world).issue(ids.project, "login", { email: casey.email, holder: "" });
  const idToken = forge(world.login.key, world.login.claims(world.clock.now()));
  const atLogin = { authorization: `Bearer ${idToken}` };
  const checked = await world.call(`/v1/user/check?${new URLSearchParams({ ...hosted, deviceId })}`, {
    headers: atLogin,
  });
  const hostedHeaders = { authorization: `Bearer ${checked.json.data.accessToken}` };
  const socialToken = forge(
    world.login.key,
    world.login.claims(world.clock.now(), { aud: "social-1", sub: "social-alice" }),
  );
  const social = { ...managed, provider: "socialTwo", userId: "social-alice", accessToken: socialToken };
  const created = await world.call("/v1/user", { body: { ...noLogin, data: { username: "Sam" } } });
  const device = { deviceId, additionalId: "tv" };
  const registered = await world.call("/v1/user", { body: { ...anonymous, data: device } });
  const { externalId } = registered.json.data;
  const writer = await BoardWriter.create(world);
  await writer.put(`/projects/${ids.project}/leaderboards/goals`, "kept", { score: 1 });
  await writer.put(`/projects/${ids.project}/events/${ids.event}/leaderboards/round_2`, "kept", { score: 1 });
  const fed = { leaderboardId: "goals" };
  const round = { leaderboardId: "round_2" };
  const laps = { leaderboardId: "laps" };
  const list = { limit: "5", include: "somebody,nobody" };
  const deleted = await world.fan("Dana");
  const [merged, joined] = [await world.fan("Mo"), await world.fan("Jo")];
  const clientToken = await commonClientToken(world);
  const operated = await operatedSession(world);
  const granted = await grantedTo(world, "somebody");
  const score = { score: 5, operator: "set", achievedAt: "2025-06-01T00:00:00Z" };
  const addition = { id: "lap-1", by: 5, achievedAt: "2025-06-01T00:00:00Z" };
  const entries: (readonly [string, readonly Partial<Example>[]])[] = [
    [
      "registerUser",
      [
        { body: { ...noLogin, data: { username: "Kim" } } },
        { body: { ...anonymous, data: device } },
        { body: { ...managed, data: { email: "kim@example.com", password, nickname: "Kim" } } },
      ],
    ],
    [
      "getUser",
      [
        { query: { ...noLogin, externalId: created.json.data.externalId } },
        { query: managed },
        { query: hosted, headers: hostedHeaders },
      ],
    ],
    [
      "checkUser",
      [
        { query: { ...managed, deviceId } },
        { query: { ...hosted, deviceId }, headers: atLogin },
        { query: { ...hosted, deviceId }, headers: hostedHeaders },
      ],
    ],
    [
      "checkSocialUser",
      [
        { query: social, headers: { authorization: `Bearer ${socialToken}` } },
        { query: { ...social, deviceId }, headers: { authorization: `Bearer ${socialToken}` } },
      ],
    ],
    [
      "updateUser",
      [
        {
          body: {
            ...noLogin,
            externalId: created.json.data.externalId,
            data: { appProfile: {} },
          },
        },
        { body: { ...managed, data: { nickname: "Robin" } } },
        { body: { ...hosted, data: { username: "Al", appProfile: {} } }, headers: hostedHeaders },
      ],
    ],
    [
      "changePassword",
      [
        {
          body: { ...managed, data: { password: "another fine secret", previousPassword: password } },
          headers: { authorization: `Bearer ${casey.accessToken}` },
        },
      ],
    ],
    ["forgotPassword", [{ body: { ...managed, data: { email: robin.email } } }]],
    [
      "confirmPassword",
      [{ body: { ...managed, data: { email: casey.email, confirmationCode: code, password } } }],
    ],
    ["verifyEmail", [{ body: { ...managed, data: { email: robin.email } } }]],
    ["confirmEmail", [{ body: { ...managed, data: { email: casey.email, confirmationCode: emailCode } } }]],
    ["beginOpenIdLogin", [{ body: { ...hosted, data: { returnTo } } }]],
    ["confirmOpenIdLogin", [{ body: { ...hosted, data: await openIdLogin(world) } }]],
    ["mailLoginCode", [{ body: { ...managed, data: { email: robin.email } } }]],
    ["confirmLogin", [{ body: { ...managed, data: { email: casey.email, confirmationCode: loginCode } } }]],
    ["refreshUser", [{ body: { ...managed, deviceId, refreshToken: robin.refreshToken } }]],
    ["logOutUser", [{ body: { ...managed, scope: "others" } }]],
    [
      "logInUser",
      [
        { body: { ...noLogin, data: { externalId: created.json.data.externalId } } },
        { body: { ...anonymous, data: { externalId, deviceId } } },
        { body: { ...managed, data: { email: robin.email, password, deviceId } } },
      ],
    ],
    [
      "issueSpaceToken",
      [
        { body: { type: "sessionRecord", projectId: ids.project, record: proof(created) } },
        { body: { type: "sessionRecord", projectId: ids.project, record: proof(registered) } },
        { body: { type: "accessToken", token: robin.accessToken } },
        { body: { type: "idToken", token: idToken } },
        { body: { type: "service", ...(await sharedKey(world)) } },
        { body: { type: "user", ...(await sharedKey(world)), userId: created.json.data.userId } },
      ],
    ],
    ["listProjectAudit", [{ query: { limit: "2", cursor: "1750000000000-0.3" } }]],
    [
      "deleteOwnUser",
      [
        { query: { ...managed }, headers: { authorization: `Bearer ${casey.accessToken}` } },
        { query: { ...noLogin, externalId: deleted.externalId } },
      ],
    ],
    ["findUsersByEmail", [{ query: { email: robin.email } }]],
    ["getProjectUser", [{ params: { userId: operated.userId } }]],
    ["listUserAudit", [{ params: { userId: operated.userId }, query: { limit: "2" } }]],
    ["listUserSessions", [{ params: { userId: operated.userId } }]],
    ["revokeUserSessions", [{ params: { userId: operated.userId } }]],
    ["revokeUserSession", [{ params: { userId: operated.userId, sessionId: operated.sid } }]],
    [
      "banUser",
      [{ params: { userId: operated.userId }, body: { reason: "Abuse in chat", until: 1_760_000_000 } }],
    ],
    ["issueClientToken", [{ body: { name: "App 2.0" } }]],
    ["endClientToken", [{ params: { tokenId: clientToken.id } }]],
    ["unbanUser", [{ params: { userId: operated.userId } }]],
    ["mergeUser", [{ params: { userId: merged.userId }, body: { into: joined.userId } }]],
    ["unlockUser", [{ params: { userId: operated.userId }, query: { address: "192.0.2.7" } }]],
    ["deleteUser", [{ params: { userId: operated.userId } }]],
    ["checkEventLocation", [{}, { params: { eventId: "current" } }]],
    ...["getHistory", "getLatestResults", "getLiveStats", "getLiveEvent"].map(
      name => [name, [{ params: { prefix: ids.event.slice(0, 2) } }]] as const,
    ),
    ["listProjectLeaderboard", [{ query: list }, { params: fed, query: { around: "kept" } }]],
    ["listEventLeaderboard", [{ params: round, query: list }]],
    ["getProjectLeaderboardEntry", [{ params: { ...fed, userId: "kept" } }]],
    ["getEventLeaderboardEntry", [{ params: { ...round, userId: "kept" } }]],
    ["putProjectLeaderboardEntry", [{ params: fed, body: score }]],
    ["putEventLeaderboardEntry", [{ params: round, body: score }]],
    ["addProjectLeaderboardScore", [{ params: laps, body: addition }]],
    ["addEventLeaderboardScore", [{ params: laps, body: addition }]],
    ["deleteProjectLeaderboardEntry", [{ params: fed }]],
    ["deleteEventLeaderboardEntry", [{ params: round }]],
    ["listHiddenUsers", [{}]],
    ["hideUser", [{}]],
    ["showUser", [{}]],
    ["getLoyaltyVersion", [{ params: { version: "1" } }]],
    ...webhookExamples,
    ["getProblem", [{ params: { code: "not_found" } }]],
    [
      "putLoyaltyConfiguration",
      [
        { body: configuration, headers: { "if-match": "*" } },
        {
          body: { data: { type: "loyalty_configurations", id: spareSpace, attributes: configuration } },
          headers: { "if-match": "*" },
        },
      ],
    ],
    ["rollBackLoyaltyConfiguration", [{ body: { version: 1 } }]],
    ["tryAction", [{ body: { userId: "somebody", action: "prediction", data: { outcome: "exact" } } }]],
    [
      "createApiKey",
      [{ body: { data: { type: "api_keys", attributes: { name: "CRM", permissions: ["users:read"] } } } }],
    ],
    [
      "rotateApiKey",
      [{ params: { keyId: (await sharedKey(world, "rotated")).key }, body: { grace_seconds: 60 } }],
    ],
    ["revokeApiKey", [{ params: { keyId: (await sharedKey(world, "revoked")).key } }]],
    ["replayUser", [{ body: {} }, { body: { document: loyalty } }]],
    ["reverseTransaction", [{ body: { transactionId: granted } }]],
    ...(await audienceExamples(world, await backEnd(world))),
    ...(await productExamples(world)),
    ...(await controlExamples(world)),
    ["getCoupon", [{ params: { couponId: "drink" }, headers: await couponOwner(world) }]],
    ["addCodes", [{ body: { codes: ["DRINK-1", "DRINK-2"] } }]],
    ["redeemCode", [{ body: { code: await handedOutCode(world) } }]],
    ["listLoyaltyHistory", [{ query: { from: "0", to: "2000000000" } }]],
    [
      "reportAction",
      [
        {
          body: {
            action: "prediction",
            actionId: "a-1",
            data: { outcome: "exact", eventId: ids.event, n: 1, b: true },
          },
        },
      ],
    ],
  ];
  return new Map(
    entries.map(([id, examples]) => [id, examples.map(example => ({ params: {}, query: {}, ...example }))]),
  );
}

const clientTokens = new WeakMap<TestPlatform, Promise<{ readonly id: string }>>();

/** A client token that the requests to a platform share, because a project has only so many. */
function commonClientToken(world: TestPlatform): Promise<{ readonly id: string }> {
  const token = clientTokens.get(world) ?? world.platform.clientTokens.create(ids.project);
  clientTokens.set(world, token);
  return token;
}

/** Gives a user a point, and answers the id of the transaction. */
async function grantedTo(world: TestPlatform, userId: string): Promise<string> {
  const member = { organisationId: ids.organisation, spaceId: ids.space, userId, projectId: null };
  const rewards = [{ type: "metric", metricId: "points", metricQuantity: 1 }] as const;
  const transaction = await world.platform.loyalty.grant(member, { rewards, reason: "Welcome" });
  if (transaction === null) throw new Error("The grant was not carried out");
  return transaction.id;
}

/** Hashers of a user who has a coupon. */
async function couponOwner(world: TestPlatform): Promise<Readonly<Record<string, string>>> {
  const fan = await world.fan("Toni");
  await fan.act("cheer");
  return { authorization: `Bearer ${fan.token}` };
}

/** Hashers of a back end with a service token. */
async function backEnd(world: TestPlatform): Promise<Readonly<Record<string, string>>> {
  const { json } = await world.call("/api/auth/token", {
    body: { type: "service", ...(await sharedKey(world)) },
  });
  return { authorization: `Bearer ${json.data.accessToken}` };
}

/** A code of a coupon that nobody has redeemed yet. */
async function handedOutCode(world: TestPlatform): Promise<string> {
  const { codePools } = world.platform.loyalty;
  const pool = { organisationId: ids.organisation, spaceId: ids.space, poolId: "drinks" };
  const code = `DRINK-${world.clock.now()}`;
  await codePools.add(pool, [code]);
  return (await codePools.claim(pool, code, null))?.code ?? code;
}

/** A login at the hosted provider that has come back. */
async function openIdLogin(world: TestPlatform): Promise<object> {
  const { json } = await world.call("/v1/user/authorize", { body: { ...hosted, data: { returnTo } } });
  const { url, state, key } = json.data;
  const nonce = new URL(url).searchParams.get("nonce");
  const code = world.login.codeFor(world.login.claims(world.clock.now(), { nonce }));
  return { code, state, key, returnTo };
}

async function seedSpareSpace({ store, clock }: TestPlatform): Promise<void> {
  const organisationId = ids.organisation;
  const document = {
    organisations: seed.organisations.filter(({ id }) => id === organisationId),
    spaces: [{ id: spareSpace, organisationId, name: "Spare space" }],
    projects: [],
    events: [],
    loyalty: { [spareSpace]: configuration },
  };
  await seedDirectory(store, document, { clock: clock.now });
}

/** The members of a session record that prove something. */
function proof({ json }: Answer): unknown {
  const { isNew: _, username: __, ...record } = json.data;
  return record;
}

/** The valid requests of one operation, path parameters complete. */
export function examplesFor(
  operation: Operation,
  examples: ReadonlyMap<string, readonly Example[]>,
): readonly Example[] {
  const existing = examples.get(operation.id);
  if (existing === undefined && operation.hasBody) {
    throw new Error(`Cannot test ${operation.id}: add a valid request to test/http/_operations.ts`);
  }
  return (existing ?? [{ params: {}, query: {} }]).map(example => {
    const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(match => match[1] ?? "");
    const params = names.map(name => {
      const value = example.params[name] ?? commonParams[name];
      if (value === undefined) throw new Error(`Cannot test ${operation.id}: give ${name} a common value`);
      return [name, value] as const;
    });
    return { ...example, params: Object.fromEntries(params) };
  });
}

/** Hashers that every operation with this scheme accepts. */
export async function credentialsFor(
  scheme: string | null,
  world: TestPlatform,
): Promise<Readonly<Record<string, string>>> {
  if (scheme === null) return {};
  if (scheme === "userToken") {
    return { authorization: `Bearer ${(await userSession(world)).accessToken}` };
  }
  if (scheme === "spaceToken") return { authorization: `Bearer ${(await world.fan("Sam")).token}` };
  if (scheme === "accessToken") return await operatorHeaders(world);
  if (scheme === "apiKey") {
    const { key, secret } = await sharedKey(world);
    return { "x-api-key": key, "x-api-secret": secret };
  }
  throw new Error(`Cannot test ${scheme}: say in test/http/_operations.ts how its credentials are presented`);
}

/** Makes an API key with every permission. */
export async function newKey(
  world: TestPlatform,
  organisationId: string = ids.organisation,
): Promise<{ readonly key: string; readonly secret: string }> {
  const { key, secret } = await world.platform.apiKeys.create({
    organisationId,
    name: "Back end",
    permissions,
  });
  return { key, secret };
}

type Key = ReturnType<typeof newKey>;

const sharedKeys = new WeakMap<TestPlatform, Map<string, Key>>();

/** A key that requests share, because an organisation has only so many; another one once it was revoked. */
async function sharedKey(world: TestPlatform, use: "common" | "rotated" | "revoked" = "common"): Key {
  const keys = sharedKeys.get(world) ?? new Map<string, Key>();
  sharedKeys.set(world, keys);
  const old = await keys.get(use);
  const reference = { organisationId: ids.organisation, keyId: old?.key ?? "" };
  if (old !== undefined && (await world.platform.apiKeys.find(reference)) !== null) return old;
  const key = newKey(world);
  keys.set(use, key);
  return await key;
}

/** The path and query of a request, everything percent-encoded. */
export function targetOf({ path }: Operation, { params, query }: Example): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const text = new URLSearchParams(query).toString();
  return text === "" ? filled : `${filled}?${text}`;
}

/** Sends an example. */
export function send(
  world: TestPlatform,
  operation: Operation,
  request: {
    readonly example: Example;
    readonly headers?: Readonly<Record<string, string>>;
    readonly host?: string;
  },
): Promise<Answer> {
  const { example, headers = {}, host } = request;
  return world.call(targetOf(operation, example), {
    method: operation.method,
    headers: { ...operation.headers, ...headers },
    ...(example.body === undefined ? {} : { body: example.body }),
    ...(host === undefined ? {} : { host }),
  });
}
