/** The services of a platform. */

import { createApiKeys } from "../auth/api_keys/api_keys.ts";
import { deriveKeys, uuid } from "../auth/crypto/mod.ts";
import { type ApiKeys, type Clock, Cursors, type KeyRing, type RandomBytes } from "../auth/mod.ts";
import { createTokens } from "../auth/tokens/mod.ts";
import { Authors } from "../authoring/control/access/authors.ts";
import { Roles } from "../authoring/control/access/roles.ts";
import type { Control, LoginServices } from "../authoring/control/mod.ts";
import {
  ActionCounts,
  EventAnalytics,
  feedKey,
  keepAnswer,
  Owners,
  Sources,
  VotedElements,
} from "../authoring/feeds/mod.ts";
import { createActionService } from "../fans/audience/actions/service.ts";
import type { ActionService } from "../fans/audience/mod.ts";
import { createDirectory } from "../fans/directory/directory.ts";
import { createLoyaltyVersions } from "../fans/directory/loyalty_versions.ts";
import type { Directory, LoyaltyVersions } from "../fans/directory/mod.ts";
import { Places } from "../fans/directory/records.ts";
import { Exports } from "../fans/exports/mod.ts";
import { createIdentity, createNoMailer } from "../fans/identity/create_identity.ts";
import type { ExchangeContext } from "../fans/identity/token_exchange.ts";
import { isVerifiedUser } from "../fans/identity/users.ts";
import { createLeaderboards } from "../fans/leaderboards/leaderboards.ts";
import type { Leaderboards } from "../fans/leaderboards/mod.ts";
import { createLocation } from "../fans/location/location.ts";
import type { Location } from "../fans/location/mod.ts";
import { readRecordedScore } from "../fans/loyalty/board_sums.ts";
import { createLoyalty } from "../fans/loyalty/loyalty.ts";
import type { Loyalty } from "../fans/loyalty/mod.ts";
import type { WebhookKeys } from "../fans/loyalty/webhooks/services.ts";
import { createSpaceTokens } from "../fans/space_tokens/mod.ts";
import type { MetricIndexing } from "../fans/users/mod.ts";
import type { Area, Logger, Timer } from "../http/mod.ts";
import { type Quotas, resolveRateLimits } from "../http/rate_limit/policies.ts";
import type { CreateShow } from "../pages/show/mod.ts";
import type { Store } from "../storage/mod.ts";
import type { ResolvedOptions } from "./options.ts";
import { settingsFaults } from "./seed.ts";
import { createIndexedUsers, type UserDirectory, userDirectory } from "./users.ts";

export interface Services extends ExchangeContext {
  readonly store: Store;
  readonly logger: Logger;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly timer: Timer;
  readonly apiKeys: ApiKeys;
  readonly keyRing: KeyRing;
  readonly leaderboards: Leaderboards;
  readonly location: Location;
  readonly loyalty: Loyalty;
  readonly loyaltyVersions: LoyaltyVersions;
  readonly userDirectory: UserDirectory;
  readonly exports: Exports;
  readonly actions: ActionService;
  readonly userIndex: MetricIndexing;
  readonly webhookKeyOf: WebhookKeys;
  readonly cursors: Cursors;
  readonly quotas: Quotas;
  readonly authors: Authors;
  readonly roles: Roles;
  /** Null: fans alone are served. */
  readonly control: Control | null;
  /** Null: no page is served. */
  readonly studio: Area | null;
  /** Null: fans have apps of their own. */
  readonly show: CreateShow | null;
  readonly places: Places;
  readonly publicUrl: string;
  readonly sources: Sources;
  readonly actionCounts: ActionCounts;
  readonly analytics: EventAnalytics;
  /** Notes how many listen to an event in this process. */
  readonly watched: (eventId: string, count: number) => void;
}

interface TokenAuthority {
  readonly keyRing: KeyRing;
  readonly issuer: string;
}

export function createServices(options: ResolvedOptions, { keyRing, issuer }: TokenAuthority): Services {
  const { store, secret, clock, random, timer, logger, defaultSpaceId, geo } = options;
  const directory = createDirectory({ store, clock, defaultSpaceId });
  const shared = { store, secret, clock, random, timer, logger, directory };
  const startTiming = options.metrics?.boardDelay();
  const leaderboards = createLeaderboards({ ...shared, readRecordedScore, startTiming });
  const { users, userIndex } = createIndexedUsers(shared);
  const places = new Places({ store, random });
  const shows = createShows(options, { places, directory, leaderboards });
  const { elements, actionCounts } = shows;
  const loyaltyVersions = createLoyaltyVersions({ store, clock });
  const webhookKeyOf: WebhookKeys = (spaceId, id) => deriveKeys(secret, "webhook", spaceId, id);
  const loyalty = createLoyalty({
    ...shared,
    versions: loyaltyVersions,
    boards: leaderboards,
    userIndex,
    holder: uuid(random),
    countAction: action => actionCounts.count(action),
    elements,
    webhooks: { sender: options.webhooks, keyOf: webhookKeyOf },
  });
  const tokens = createTokens({ ring: keyRing, clock, random });
  const quotas = resolveRateLimits(options.rateLimits);
  const identity = createIdentity({
    ...shared,
    issuer,
    users,
    tokens,
    quotas,
    limiter: options.limiter === "off" ? undefined : options.limiter,
    mailer: options.mailer,
    passwordKernels: options.passwordKernels,
    ...usersElsewhere({ directory, loyalty, leaderboards }),
    options: options.identity,
  });
  const actions = createActionService({ ...options, loyalty });
  const accountIssuerOf = accountIssuers(directory, identity);
  const found = userDirectory({ ...shared, loyalty, users, accountIssuerOf });
  return {
    ...identity,
    store,
    logger,
    timer,
    keyRing,
    apiKeys: createApiKeys({ store, secret, clock, random }),
    spaceTokens: createSpaceTokens({ tokens, directory, issuer }),
    leaderboards,
    location: createLocation({ directory, geo }),
    loyalty,
    loyaltyVersions,
    userIndex,
    userDirectory: found,
    exports: createExports(options, { directory, search: found.search, announcer: loyalty.webhooks }),
    webhookKeyOf,
    actions,
    places,
    ...shows,
    ...pagesOf(options),
    ...createAuthoring(options, { directory, login: identity, actions, loyalty, leaderboards, elements }),
    quotas,
  };
}

function accountIssuers(directory: Directory, { ownAccounts }: Pick<Services, "ownAccounts">) {
  return async (spaceId: string): Promise<string | undefined> => {
    const space = await directory.space(spaceId);
    return space === null ? undefined : await ownAccounts.issuerOfSpace(space);
  };
}

function pagesOf({
  show,
  studio,
  publicUrl,
}: ResolvedOptions): Pick<Services, "publicUrl" | "show" | "studio"> {
  return { publicUrl, show: show ?? null, studio: studio?.(publicUrl) ?? null };
}

function createExports(
  { exports, store, secret, clock, random, publicUrl, logger, blobs, webhooks, mailer }: ResolvedOptions,
  services: Pick<ConstructorParameters<typeof Exports>[0], "directory" | "search" | "announcer">,
): Exports {
  return new Exports({
    ...exports,
    ...services,
    store,
    secret,
    clock,
    random,
    publicUrl,
    logger,
    blobs,
    webhooks,
    // Mails that cannot be sent are logged.
    mailer: mailer ?? createNoMailer(logger),
  });
}

function createShows(
  { store, clock, timer, logger, random, publicUrl }: ResolvedOptions,
  { places, directory, leaderboards }: Pick<Services, "places" | "directory" | "leaderboards">,
) {
  const changed = (eventId: string): void => leaderboards.live.wake(feedKey("history", eventId));
  const sources = new Sources({ store, places, publicUrl, clock, changed });
  const owners = new Owners({ store, places, directory, clock });
  const elements = new VotedElements({
    owners,
    sources,
    isVerifiedUser: (projectId, userId) => isVerifiedUser(store, projectId, userId),
    keepAnswer: sent => keepAnswer({ store, clock }, sent),
  });
  const analytics = new EventAnalytics({ store, clock, timer, logger, holder: uuid(random) });
  const actionCounts = new ActionCounts({ store, owners, timer, logger, analytics });
  const note = async (eventId: string, count: number): Promise<void> => {
    const owner = await owners.of(eventId);
    if (owner !== null) analytics.watched(owner, count);
  };
  // A stream waits for no figure.
  const watched = (eventId: string, count: number): void => void note(eventId, count).catch(() => {});
  return { sources, elements, actionCounts, analytics, watched };
}

function createAuthoring(
  options: ResolvedOptions,
  {
    directory,
    login,
    actions,
    loyalty,
    leaderboards,
    elements,
  }: Pick<Services, "directory" | "actions" | "loyalty" | "leaderboards"> & {
    readonly login: LoginServices;
    readonly elements: VotedElements;
  },
): Pick<Services, "authors" | "control" | "cursors" | "roles"> {
  const { store, secret, clock, random, publicUrl, blobs, logger } = options;
  const cursors = new Cursors(deriveKeys(secret, "cursor"), clock);
  const authors = new Authors({ store, secret, clock, random });
  const roles = new Roles({ store, directory, clock });
  const control = options.control?.({
    authors,
    login,
    roles,
    store,
    secret,
    directory,
    cursors,
    clock,
    random,
    publicUrl,
    blobs,
    logger,
    settingsFaults: (kind, settings, pointer) => [
      ...settingsFaults(kind, settings, pointer),
      ...((kind === "project" && options.show?.faults(settings, pointer)) || []),
    ],
    live: leaderboards.live,
    holder: uuid(random),
    async beforeShowChange(ids) {
      const [forget, look] = await Promise.all([elements.beforeChange(ids), loyalty.reveals.expect(ids)]);
      return async () => {
        forget();
        await look();
      };
    },
    metrics: options.metrics ?? null,
    deadLetters: actions.deadLetters,
    outbound: options.outbound ?? null,
    sha256: options.exports?.kernels?.sha256,
  });
  return { authors, control: control ?? null, cursors, roles };
}

/** What identity asks of loyalty and boards about the users of a project, which it knows by their ids alone. */
function usersElsewhere({
  directory,
  loyalty,
  leaderboards,
}: Pick<Services, "directory" | "loyalty" | "leaderboards">) {
  const find = async (projectId: string, userId: string) => {
    const project = await directory.project(projectId);
    if (project === null) return null;
    return { organisationId: project.organisationId, spaceId: project.spaceId, projectId, userId };
  };
  // Loyalty goes first, so that it feeds no board afterwards.
  const removal =
    (remove: "removeUser" | "removeUnusedUser") => async (projectId: string, userId: string) => {
      const user = await find(projectId, userId);
      if (user !== null) await loyalty[remove](user);
      await leaderboards.removeUser(projectId, userId);
    };
  return {
    onRemove: leaderboards.removeUser,
    forgetUser: removal("removeUser"),
    forgetIdleUser: removal("removeUnusedUser"),
    /** Finds users whom back ends reported and who never signed up. */
    async isReported(projectId, userId) {
      const user = await find(projectId, userId);
      return user !== null && (await loyalty.isKept(user, projectId));
    },
    /** Keeps idle users who have transactions; a rewards profile alone is created by reading it. */
    async isWorthKeeping(projectId, { userId }) {
      const user = await find(projectId, userId);
      return user === null || (await loyalty.history(user, {})).length > 0;
    },
    async listAgain(projectId, userId) {
      const user = await find(projectId, userId);
      if (user !== null) await loyalty.listAgain(user);
    },
    async mergeUsers({ projectId, from, into }) {
      const user = await find(projectId, into);
      if (user !== null) await loyalty.merge({ ...user, userId: from }, user);
    },
  } satisfies Partial<Parameters<typeof createIdentity>[0]>;
}
