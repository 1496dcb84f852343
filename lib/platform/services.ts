/**
 * The domain of a platform: one service for each area, wired to the others.
 *
 * @module
 */

import { type ActionService, createActionService } from "../audience/mod.ts";
import { uuid } from "../auth/crypto/mod.ts";
import {
  type ApiKeys,
  type Clock,
  createApiKeys,
  createTokens,
  deriveKey,
  type KeyRing,
  type RandomBytes,
  type Tokens,
} from "../auth/mod.ts";
import { createRemoteFetch, createRemoteIssuers } from "../auth/remote_issuers/mod.ts";
import {
  createDirectory,
  createLoyaltyVersions,
  type Directory,
  type LoyaltyVersions,
} from "../directory/mod.ts";
import { Exports } from "../exports/mod.ts";
import { type Quotas, resolveRateLimits } from "../http/rate_limit/policies.ts";
import {
  type Abuse,
  createAbuse,
  createAudit,
  createBackground,
  createClientTagger,
  createClientTokens,
  createCredentials,
  createIdleUsers,
  createNoMailer,
  createSessionGuard,
  createSessionRecords,
  createSessions,
  createSocialVerifiers,
  type ExchangeContext,
  type IdentityContext,
  type IdleUsersOptions,
  noAbuseControls,
} from "../identity/mod.ts";
import { createLeaderboards, type Leaderboards } from "../leaderboards/mod.ts";
import { createLocation, type Location } from "../location/mod.ts";
import { createLoyalty, type Loyalty, type WebhookKeys } from "../loyalty/mod.ts";
import { createSpaceTokens } from "../space_tokens/mod.ts";
import type { Store } from "../storage/mod.ts";
import type { ResolvedOptions } from "./options.ts";
import { createIndexedUsers, type UserDirectory, userDirectory } from "./users.ts";

/** The services of a platform. */
export interface Services extends ExchangeContext {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly apiKeys: ApiKeys;
  readonly keyRing: KeyRing;
  readonly leaderboards: Leaderboards;
  readonly location: Location;
  readonly loyalty: Loyalty;
  readonly loyaltyVersions: LoyaltyVersions;
  readonly userDirectory: UserDirectory;
  readonly exports: Exports;
  readonly actions: ActionService;
  /** Feeds boards and indexes with what users earn. */
  readonly scoreFeed: { idle(): Promise<void> };
  /** Signs the webhooks of spaces. */
  readonly webhookKeyOf: WebhookKeys;
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array;
  readonly quotas: Quotas;
}

/** Creates the services of a platform. */
export function createServices(options: ResolvedOptions, keyRing: KeyRing): Services {
  const { store, secret, clock, random, timer, logger, publicUrl, defaultSpaceId, geo } = options;
  const directory = createDirectory({
    store,
    clock,
    ...(defaultSpaceId === undefined ? {} : { defaultSpaceId }),
  });
  const leaderboards = createLeaderboards({ store, directory, clock, logger, timer });
  const { users, scoreFeed } = createIndexedUsers({
    store,
    directory,
    clock,
    logger,
    boards: leaderboards.feed,
  });
  const loyaltyVersions = createLoyaltyVersions({ store, clock });
  const webhookKeyOf: WebhookKeys = (spaceId, id) => deriveKey(secret, "webhook", spaceId, id);
  const loyalty = createLoyalty({
    store,
    directory,
    versions: loyaltyVersions,
    clock,
    feed: scoreFeed,
    logger,
    holder: uuid(random),
    webhooks: { sender: options.webhooks, keyOf: webhookKeyOf },
  });
  const tokens = createTokens({ ring: keyRing, clock, random });
  const identity = createIdentity(options, { directory, users, tokens, leaderboards, loyalty });
  const found = userDirectory({ store, directory, clock, loyalty });
  return {
    ...identity,
    store,
    keyRing,
    apiKeys: createApiKeys({ store, secret, clock, random }),
    spaceTokens: createSpaceTokens({ tokens, publicUrl }),
    leaderboards,
    location: createLocation({ directory, ...(geo === undefined ? {} : { geo }) }),
    loyalty,
    loyaltyVersions,
    scoreFeed,
    userDirectory: found,
    exports: new Exports({
      ...options.exports,
      ...{ store, secret, clock, random, publicUrl, logger, directory },
      blobs: options.blobs,
      webhooks: options.webhooks,
      // A request for a mail that cannot be sent is logged.
      mailer: options.mailer ?? createNoMailer(logger),
      search: found.search,
      announcer: loyalty.webhooks,
    }),
    actions: createActionService({ ...options, loyalty }),
    webhookKeyOf,
    cursorKey: deriveKey(secret, "cursor"),
    quotas: resolveRateLimits(options.rateLimits),
  };
}

interface IdentityDependencies {
  readonly directory: Directory;
  readonly users: IdentityContext["users"];
  readonly tokens: Tokens;
  readonly leaderboards: Pick<Leaderboards, "removeUser">;
  readonly loyalty: Pick<Loyalty, "history">;
}

function createIdentity(
  options: ResolvedOptions,
  { directory, users, tokens, leaderboards, loyalty }: IdentityDependencies,
): IdentityContext {
  const { store, secret, clock, random, publicUrl, logger, passwordKernels, identity = {} } = options;
  const sessions = createSessions({
    store,
    tokens,
    clock,
    random,
    publicUrl,
    onReuse: (projectId, { userId, sid }) =>
      logger.log("warn", "refresh_token_reused", { projectId, userId, sessionId: sid }),
  });
  const fetch = createRemoteFetch(identity.remote);
  const issuers = createRemoteIssuers({ fetch, clock });
  const { removeUser: onRemove } = leaderboards;
  return {
    directory,
    clock,
    random,
    users,
    sessions,
    onRemove,
    tokens,
    issuers,
    records: createSessionRecords(secret),
    idleUsers: createIdleUsers({
      store,
      users,
      sessions,
      clock,
      isKept: hasTransactions(directory, loyalty),
      onRemove,
    }),
    sessionGuard: createSessionGuard({ store, clock }),
    socialVerifiers: createSocialVerifiers({ issuers, fetch, clock }),
    ...createCredentials({
      store,
      secret,
      clock,
      random,
      ...(passwordKernels === undefined ? {} : { kernels: passwordKernels }),
      ...(identity.passwordHash === undefined ? {} : { algorithm: identity.passwordHash }),
      ...(identity.passwordPolicy === undefined ? {} : { policy: identity.passwordPolicy }),
    }),
    abuse: createAbuseControls(options),
    audit: createAudit({ store, logger }),
    tagClient: createClientTagger(secret),
    clientTokens: createClientTokens({ tokens, publicUrl }),
    mailer: options.mailer ?? createNoMailer(logger),
    background: createBackground(logger),
    onMerge: identity.onMerge ?? (() => {}),
  };
}

/** Keeps idle users who have transactions; a rewards profile alone is created by reading it. */
function hasTransactions(
  directory: Directory,
  loyalty: IdentityDependencies["loyalty"],
): IdleUsersOptions["isKept"] {
  return async (projectId, { userId }) => {
    const project = await directory.project(projectId);
    if (project === null) return true;
    const { organisationId, spaceId } = project;
    const history = await loyalty.history({ organisationId, spaceId, projectId, userId }, {});
    return history.length > 0;
  };
}

function createAbuseControls({ secret, identity, limiter, logger }: ResolvedOptions): Abuse {
  const { limits = {} } = identity ?? {};
  if (limits === "off" || limiter === "off") return noAbuseControls;
  return createAbuse({ limiter, secret, logger, limits });
}
