/**
 * The composition root: the one place where areas meet.
 *
 * @module
 */

import { type ActionService, type ActionWorker, createActionService } from "../audience/mod.ts";
import { uuid } from "../auth/crypto/mod.ts";
import {
  type ApiKeys,
  apiKeyGuard,
  apiKeyRoutes,
  type Clock,
  createApiKeys,
  createKeyRing,
  deriveKey,
  jwksArea,
  type KeyRing,
  systemClock,
  systemRandom,
} from "../auth/mod.ts";
import {
  createDirectory,
  createLoyaltyVersions,
  type Directory,
  type LoyaltyVersions,
} from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import type { Exports } from "../exports/mod.ts";
import {
  type Area,
  chain,
  createHandler,
  type Handler,
  type HandlerOptions,
  silentLogger,
  systemTimer,
} from "../http/mod.ts";
import { type Quotas, resolveRateLimits } from "../http/rate_limit/policies.ts";
import {
  type Audit,
  type ClientTokens,
  createPublicProfiles,
  type ExchangeContext,
  type IdleUsers,
  identityRoutes,
  operatorRoutes,
  type SessionGuard,
  type Sessions,
  tokenExchangeRoute,
} from "../identity/mod.ts";
import {
  type BoardPath,
  createHiddenUsers,
  createLeaderboards,
  type Leaderboards,
  leaderboardRoutes,
  type Rebuilt,
} from "../leaderboards/mod.ts";
import { createLocation, type Location, locationRoutes } from "../location/mod.ts";
import {
  createLoyalty,
  type Loyalty,
  type LoyaltyControlContext,
  loyaltyControlRoutes,
  loyaltyOperatorRoutes,
  loyaltyRoutes,
  poolRoutes,
  redemptionOperatorRoutes,
  type WebhookKeys,
} from "../loyalty/mod.ts";
import {
  createSpaceTokens,
  optionalSpaceGuard,
  type SpaceGuardOptions,
  type SpaceTokens,
  spaceGuard,
} from "../space_tokens/mod.ts";
import type { Store } from "../storage/mod.ts";
import { audienceArea } from "./audience.ts";
import { platformExports } from "./exports.ts";
import { platformIdentity } from "./identity.ts";
import { rebuildFromLoyalty } from "./leaderboards.ts";
import type { PlatformOptions } from "./options.ts";
import { createFailureLimit, withIdempotency, withLoyaltyLimits } from "./quotas.ts";
import { createIndexedUsers, type PlatformUsers, type UserDirectory, userDirectory } from "./users.ts";

/** The version of the package. */
export const version = "0.6.0";

/** Address of the platform where none is configured. */
export const publicUrlDefault = "http://127.0.0.1:8787";

export type { IdentityOptions, PlatformOptions } from "./options.ts";

/** The areas of a platform; each can be mounted alone. */
export type AreaName =
  | "identity"
  | "location"
  | "spaceTokens"
  | "leaderboards"
  | "loyalty"
  | "audience"
  | "control"
  | "keys";

/** A platform. */
export interface Platform {
  /** Serves every area. */
  readonly fetch: Handler;
  /** Serves the named areas alone, for teams that mount them in a server of their own. */
  handler(areas: readonly AreaName[]): Handler;
  readonly directory: Directory;
  readonly apiKeys: ApiKeys;
  /** Issues the tokens that apps carry, with which users without a session ask for a new password. */
  readonly clientTokens: ClientTokens;
  readonly keyRing: KeyRing;
  /** Feeds boards, sends them to those who listen, and removes the scores of seasons that are no longer kept. */
  readonly leaderboards: Leaderboards;
  readonly location: Location;
  readonly loyalty: Loyalty;
  /** The loyalty configurations of spaces with their history. */
  readonly loyaltyVersions: LoyaltyVersions;
  /** The users of organisations: searching them, and building indexes of their metrics. */
  readonly users: PlatformUsers;
  /** The exports of users. `work` begins what is due and does not wait for it; `idle` does. */
  readonly exports: Exports;
  readonly sessions: Sessions;
  /** Tells services that verify users' tokens by themselves which sessions are over. */
  readonly sessionGuard: SessionGuard;
  readonly spaceTokens: SpaceTokens;
  /** Removes anonymous users who came once and never again. */
  readonly idleUsers: IdleUsers;
  /** The trail of every attempt at an identity operation. */
  readonly audit: Audit;
  /**
   * Rebuilds a board that is fed by what users do from what is recorded of them, while it is read and fed. Whoever is not on
   * record for the board is taken off it. `users` are the ids of those who may be on it.
   * @default everybody of the organisation who has ever done anything
   *
   * @throws {AppError} `not_found` or `validation_failed` where there is no such board; `conflict` where back ends write to it.
   */
  rebuildBoard(
    path: BoardPath & { readonly season?: string },
    users?: AsyncIterable<string>,
  ): Promise<Rebuilt>;
  /**
   * Does what no request waits for and is due now: finishes what ended processes have left behind, lets time pass for users
   * who do not come by, removes seasons that are no longer kept and idle anonymous users, and writes when API keys were last
   * used. Call it every few seconds, in one process or in all.
   */
  work(): Promise<void>;
  /**
   * Starts to apply in this process the actions that wait in the queue; whoever starts a worker stops it, before `close`.
   * Workers of several processes share the work.
   *
   * @throws {TypeError} The platform has no queue.
   */
  startActionWorker(options?: Parameters<ActionService["startWorker"]>[0]): ActionWorker;
  /** Resolves when the background work that requests left behind is done, boards included. */
  idle(): Promise<void>;
  /** Ends live boards and finishes the background work. The store stays open: it belongs to whoever made it. */
  close(): Promise<void>;
}

/**
 * Builds a platform over a store.
 *
 * @throws {Error} The store holds keys that were sealed under another secret.
 * @throws {AppError} `storage_unavailable` or `outcome_unknown`: the store could not be asked for the keys.
 *
 * @example
 * ```ts
 * import { createPlatform, MasterSecret } from "grandstand";
 * import { createMemoryStore } from "grandstand/memory";
 *
 * const platform = await createPlatform({
 *   store: createMemoryStore(),
 *   secret: new MasterSecret("a long text that only this deployment knows"),
 * });
 * const response = await platform.fetch(new Request("http://localhost/healthz"));
 * console.log(response.status); // 200
 * ```
 */
export async function createPlatform(options: PlatformOptions): Promise<Platform> {
  const { store, clock = systemClock, logger = silentLogger, publicUrl = publicUrlDefault } = options;
  const keyRing = await openKeyRing(options);
  const parts = createParts({ ...options, clock, publicUrl }, keyRing);
  const areas = createAreas(parts);
  async function idle(): Promise<void> {
    const { leaderboards, loyalty, background, audit, feed, exports } = parts;
    await Promise.all([leaderboards, feed, loyalty, background, audit, exports].map(part => part.idle()));
  }
  const http: HandlerOptions = {
    ...options.http,
    logger,
    publicUrl,
    version,
    ready: () => store.ping(),
    failureLimit: createFailureLimit(parts.quotas, options.secret),
    idempotency: { store, clock },
  };
  return {
    fetch: createHandler([...Object.values(areas), ...(options.areas ?? [])], http),
    handler: names =>
      createHandler(
        names.map(name => areas[name]),
        http,
      ),
    directory: parts.directory,
    apiKeys: parts.apiKeys,
    clientTokens: parts.clientTokens,
    keyRing,
    leaderboards: parts.leaderboards,
    location: parts.location,
    loyalty: parts.loyalty,
    loyaltyVersions: parts.loyaltyVersions,
    users: parts.userDirectory,
    exports: parts.exports,
    sessions: parts.sessions,
    sessionGuard: parts.sessionGuard,
    spaceTokens: parts.spaceTokens,
    idleUsers: parts.idleUsers,
    audit: parts.audit,
    async work() {
      parts.exports.start();
      await parts.loyalty.sweep();
      await parts.userDirectory.work();
      await parts.leaderboards.prune();
      await parts.idleUsers.sweepDue();
      await parts.apiKeys.flushUses();
    },
    rebuildBoard: (path, users) => rebuildFromLoyalty(parts, path, users),
    startActionWorker: parts.actions.startWorker,
    idle,
    async close() {
      parts.leaderboards.live.close();
      await parts.exports.close();
      await idle();
      await parts.apiKeys
        .flushUses()
        .catch((error: unknown) => logger.log("warn", "key_uses_not_written", { reason: String(error) }));
    },
  };
}

async function openKeyRing(options: PlatformOptions): Promise<KeyRing> {
  const { store, secret, clock = systemClock, random = systemRandom, signatureAlgorithm, logger } = options;
  return await createKeyRing({
    store,
    secret,
    clock,
    random,
    ...(signatureAlgorithm === undefined ? {} : { algorithm: signatureAlgorithm }),
    onReloadFailed: error => logger?.log("warn", "key_ring_reload_failed", { error: String(error) }),
  });
}

interface Parts extends ExchangeContext {
  readonly store: Store;
  readonly leaderboards: Leaderboards;
  readonly apiKeys: ApiKeys;
  readonly keyRing: KeyRing;
  readonly location: Location;
  readonly loyalty: Loyalty;
  readonly userDirectory: UserDirectory;
  readonly exports: Exports;
  readonly feed: { idle(): Promise<void> };
  readonly actions: ActionService;
  readonly loyaltyVersions: LoyaltyVersions;
  readonly keyOf: WebhookKeys;
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array;
  readonly quotas: Quotas;
}

function createParts(
  options: PlatformOptions & { readonly clock: Clock; readonly publicUrl: string },
  keyRing: KeyRing,
): Parts {
  const { store, secret, clock, publicUrl, defaultSpaceId, geo, random = systemRandom } = options;
  const directory = createDirectory({
    store,
    clock,
    ...(defaultSpaceId === undefined ? {} : { defaultSpaceId }),
  });
  const leaderboards = createLeaderboards({
    store,
    directory,
    clock,
    logger: options.logger ?? silentLogger,
    ...(options.http?.timer === undefined ? {} : { timer: options.http.timer }),
  });
  const logger = options.logger ?? silentLogger;
  const { users, scoreFeed: feed } = createIndexedUsers({
    store,
    directory,
    clock,
    logger,
    boards: leaderboards.feed,
  });
  const loyaltyVersions = createLoyaltyVersions({ store, clock });
  const keyOf: WebhookKeys = (spaceId, id) => deriveKey(secret, "webhook", spaceId, id);
  const loyalty = createLoyalty({
    store,
    directory,
    versions: loyaltyVersions,
    clock,
    feed,
    logger,
    holder: uuid(random),
    webhooks: { sender: options.webhooks, keyOf },
  });
  const identity = platformIdentity(options, { directory, users, keyRing, leaderboards, loyalty });
  const found = userDirectory({ store, directory, clock, loyalty });
  return {
    ...identity,
    store,
    keyRing,
    apiKeys: createApiKeys({ store, secret, clock, random }),
    spaceTokens: createSpaceTokens({ tokens: identity.tokens, publicUrl }),
    leaderboards,
    location: createLocation({ directory, ...(geo === undefined ? {} : { geo }) }),
    loyalty,
    feed,
    userDirectory: found,
    exports: platformExports(options, { directory, search: found.search, announcer: loyalty.webhooks }),
    actions: createActionService({
      ...options,
      random,
      loyalty,
      timer: options.http?.timer ?? systemTimer,
      logger: options.logger ?? silentLogger,
    }),
    loyaltyVersions,
    keyOf,
    cursorKey: deriveKey(secret, "cursor"),
    quotas: resolveRateLimits(options.rateLimits),
  };
}

function controlContext({ directory, apiKeys, loyalty, ...parts }: Parts): LoyaltyControlContext {
  return {
    directory,
    versions: parts.loyaltyVersions,
    webhooks: loyalty.webhooks,
    configReader: apiKeyGuard({ apiKeys, permission: "config:read" }),
    configWriter: apiKeyGuard({ apiKeys, permission: "config:write" }),
    config: spaceId => chain(loyalty.config(spaceId), ({ config }) => config),
    keyOf: parts.keyOf,
  };
}

function createAreas(parts: Parts): Readonly<Record<AreaName, Area>> {
  const { store, directory, clock, apiKeys, loyalty, keyRing } = parts;
  const userGuards = {
    usersReader: apiKeyGuard({ apiKeys, permission: "users:read" }),
    usersWriter: apiKeyGuard({ apiKeys, permission: "users:write" }),
  };
  const rewardsWriter = apiKeyGuard({ apiKeys, permission: "rewards:write" });
  const leaderboards = leaderboardRoutes({
    store,
    directory,
    clock,
    retention: parts.leaderboards,
    live: parts.leaderboards.live,
    hiddenUsers: createHiddenUsers({ store, clock }),
    publicProfiles: createPublicProfiles({ store, clock }),
    keyHolder: apiKeyGuard({ apiKeys }),
    rewardsWriter,
    ...userGuards,
  });
  const spaces: SpaceGuardOptions = {
    ...parts,
    checkSession: ({ projectId, userId, sessionId }) =>
      parts.sessionGuard.check({ projectId, userId, sessionId }),
    checkKey: ({ organisationId, keyId }) =>
      chain(apiKeys.isAlive({ organisationId, keyId }), isAlive => {
        if (!isAlive) throw new AppError("session_revoked", "The API key of the token was revoked");
      }),
  };
  const guards = { member: spaceGuard(spaces), visitor: optionalSpaceGuard(spaces) };
  return {
    identity: {
      name: "identity",
      family: "identity",
      routes: [...identityRoutes(parts), ...operatorRoutes({ ...parts, ...userGuards })],
    },
    location: { name: "location", family: "identity", routes: locationRoutes(parts) },
    spaceTokens: { name: "space-tokens", family: "problem", routes: [tokenExchangeRoute(parts)] },
    leaderboards: { name: "leaderboards", family: "problem", routes: leaderboards },
    loyalty: {
      name: "loyalty",
      family: "problem",
      routes: [
        ...withLoyaltyLimits(loyaltyRoutes({ directory, loyalty, ...guards }), parts.quotas),
        ...withIdempotency([
          ...loyaltyOperatorRoutes({ directory, loyalty, rewardsWriter, ...userGuards }),
          ...redemptionOperatorRoutes({
            directory,
            products: loyalty.products,
            rewardsWriter,
            ...userGuards,
          }),
          ...poolRoutes({ directory, rewardsWriter, pools: loyalty.codePools, configOf: loyalty.config }),
        ]),
      ],
    },
    audience: audienceArea(parts, spaces),
    control: {
      name: "control",
      family: "jsonApi",
      routes: [
        ...loyaltyControlRoutes(controlContext(parts)),
        ...apiKeyRoutes({ apiKeys, keysWriter: apiKeyGuard({ apiKeys, permission: "keys:write" }) }),
      ],
    },
    keys: jwksArea({ ring: keyRing }),
  };
}
