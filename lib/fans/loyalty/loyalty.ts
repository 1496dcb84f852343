/**
 * The loyalty service of a platform: what users earn, have and spend.
 *
 * All of a user's loyalty is in one partition and each command is one commit of it. So commands about one user take effect one after
 * the other, however many arrive at once, and none is lost.
 *
 * @module
 */

import type * as v from "valibot";
import type { Clock } from "../../auth/mod.ts";
import type { Announcer } from "../../base/outbound/outbound.ts";
import { chain, type Immutable } from "../../http/mod.ts";
import { RecordCache, type Store } from "../../storage/mod.ts";
import type { Directory, LoyaltyVersions } from "../directory/mod.ts";
import type { RecountedSum, UserEarnings } from "../leaderboards/mod.ts";
import type { Command } from "./commands/command.ts";
import { type CommandRunner, type CommandServices, createCommandRunner } from "./commands/command_runner.ts";
import { LateScores } from "./commands/late_scores.ts";
import { loadOrCreateState, readSettled } from "./commands/load_state.ts";
import { mergeUsers } from "./commands/merge_users.ts";
import { recountUser } from "./commands/recount.ts";
import { createRevealQueue, Reveals } from "./commands/reveals.ts";
import { createUserCommands, type UserCommands } from "./commands/user_commands.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import { type ConfigCache, createConfigCache } from "./config/config_cache.ts";
import {
  type CodePools,
  type Coupons,
  type CouponView,
  couponRetryMs,
  createCodePools,
  createCoupons,
  createFillWarnings,
} from "./coupons/mod.ts";
import {
  createDueUserQueue,
  type DueUser,
  type DueUserQueue,
  listUsersOf,
  sweepDueUsers,
} from "./due_users/mod.ts";
import { advanceTime } from "./engine/mod.ts";
import { createGlobalLimits } from "./limits/global_limits.ts";
import { createProducts, type Products } from "./products/mod.ts";
import type { LoyaltyServices } from "./services.ts";
import type { NotificationSchema } from "./user/change_payload.ts";
import { type TransactionView, transactionView } from "./user/history.ts";
import { Inbox } from "./user/inbox.ts";
import type { InboxNotification } from "./user/inbox_view.ts";
import { createProfileFieldsCache } from "./user/profile_fields.ts";
import { type HistoryPage, type HistoryQuery, readTransactions } from "./user/read_history.ts";
import { isKeptUser, removeUserState } from "./user/remove_state.ts";
import { type SpaceUser, spaceUserPartition, UserCache } from "./user/space_user.ts";
import type { UserState } from "./user/state.ts";
import { parseState, printState, readState } from "./user/stored_state.ts";
import { createLoyaltyReader, type LoyaltyReader } from "./views/loyalty_reader.ts";
import { type RewardsProfile, rewardsProfile } from "./views/profile.ts";
import { createUserVerification, type UserVerification } from "./views/verification.ts";
import type { ElementSource } from "./votes/elements.ts";
import { type OwnVotes, ownVotes } from "./votes/own_votes.ts";
import { Voters } from "./votes/voters.ts";
import { createWebhooks, type WebhookAdmin, type WebhookServices, type Webhooks } from "./webhooks/mod.ts";

/** An unread notification as the API shows it. */
export type NotificationView = Immutable<v.InferOutput<typeof NotificationSchema>>;

/** Reads and changes the loyalty of users. */
export interface Loyalty extends UserCommands, UserVerification {
  /** Returns the compiled configuration of a space; without a promise while it is fresh. */
  config(spaceId: string): CompiledConfig | Promise<CompiledConfig>;
  /** Returns the rewards profile; an empty one is created where there is none. */
  profile(user: SpaceUser): Promise<RewardsProfile>;
  /** Reads users without changing anything. */
  readonly reader: LoyaltyReader;
  /** The notifications of users, read and unread. */
  readonly inbox: Inbox;
  /** Returns unread notifications, oldest first. */
  notifications(user: SpaceUser): Promise<readonly NotificationView[]>;
  /** The pools that the codes of unique coupons come from. */
  readonly codePools: CodePools;
  /**
   * Returns a coupon of the user, by its own id or the newest one of a coupon of the configuration. A coupon without a code is
   * given one if the pool has any.
   *
   * @throws {AppError} `not_found` where the user has no such coupon, or it has expired.
   */
  coupon(user: SpaceUser, id: string): Promise<CouponView>;
  /**
   * Returns the votes of a user for the elements of an event, in the order of the event.
   *
   * @throws {AppError} `not_found` where the user's project has no such event.
   */
  votes(user: SpaceUser, eventId: string): Promise<readonly OwnVotes[]>;
  /** Returns the first page of transactions in ascending time, from `from` to `to` (Unix seconds, both inclusive). */
  history(
    user: SpaceUser,
    range: { readonly from?: number; readonly to?: number },
  ): Promise<readonly TransactionView[]>;
  /** Returns a page of transactions in ascending time; `from` and `to` are in Unix seconds. */
  historyPage(user: SpaceUser, query: HistoryQuery): Promise<HistoryPage<TransactionView>>;
  /** Products that users buy with their points. */
  readonly products: Products;
  /** Runs due work of a user now and returns when to do so next, in Unix ms; null: never. */
  processDueUser(user: SpaceUser): Promise<number | null>;
  /**
   * Runs due work of all organisations' users: effects that an interrupted process left behind, and changes by time alone. Call it
   * repeatedly; calls may overlap, in one process or several.
   */
  sweep(): ReturnType<typeof sweepDueUsers>;
  /**
   * Merges a user into another of the same project, once: points, items, progress, coupons and scores. Commands about the merged
   * user act on the account from then on. It may be repeated after an interruption.
   */
  merge(from: SpaceUser, into: SpaceUser): Promise<void>;
  /**
   * Reads what a user gained, for boards that are rebuilt; null where there is no such user. Corrects the user's running sum to it,
   * and gives a user without a project that of the sign-up.
   */
  recount(user: SpaceUser, sum: RecountedSum | null): Promise<UserEarnings | null>;
  /** Removes everything about a user: balances, history, notifications, profile. It may be repeated. */
  removeUser(user: Pick<SpaceUser, "organisationId" | "userId">): Promise<void>;
  /** Tests if something is kept about a user of the organisation, who is in the project, or in none. */
  isKept(user: Pick<SpaceUser, "organisationId" | "userId">, projectId: string): Promise<boolean>;
  /** Lists a user among those of the organisation without changing the user's loyalty. */
  register(user: SpaceUser): Promise<void>;
  /** Lists a user again whom a removal has taken off lists. */
  listAgain(user: SpaceUser): Promise<void>;
  /** Iterates over every user of an organisation who has ever done anything. */
  users(organisationId: string): AsyncIterable<DueUser>;
  /** Announcements to webhooks, and their administration. */
  readonly webhooks: Announcer & WebhookAdmin;
  /** Pays what depends on the answers of elements once these are public. */
  readonly reveals: Pick<Reveals, "expect" | "start">;
  /** Resolves when voters are listed, reveals have paid what was begun, and no webhook message is being sent any more. */
  idle(): Promise<void>;
}

/** Services that loyalty needs. */
export interface LoyaltyOptions
  extends Pick<LoyaltyServices, "store" | "clock" | "boards" | "logger">,
    Pick<CommandServices, "countAction" | "userIndex"> {
  readonly directory: Directory;
  /** Earlier versions of configurations, for when the current one cannot be used. */
  readonly versions: Pick<LoyaltyVersions, "list" | "get">;
  /** The elements that actions name. */
  readonly elements: ElementSource;
  /** Names this process among those that sweep. */
  readonly holder: string;
  readonly webhooks: Pick<WebhookServices, "sender" | "keyOf">;
}

/** Number of users whose parsed state a process keeps. */
const statesMax = 10_000;

/** Creates the loyalty service of all spaces. */
export function createLoyalty(options: LoyaltyOptions): Loyalty {
  const { store, clock } = options;
  const configOf = createConfigCache(options);
  const users = new UserCache();
  const states = createStateCache();
  const profiles = createProfileFieldsCache();
  const shared = { ...options, configOf, states, profiles, users, policyOf: inboxPolicies(configOf) };
  const webhooks = createLoyaltyWebhooks(options, configOf);
  const warnings = createFillWarnings({ ...shared, webhooks });
  const pools = createCodePools({ ...shared, onLow: warnings.onLow });
  const coupons = createCoupons(shared, pools);
  const limits = createGlobalLimits(store);
  const dueUsers = createDueUserQueue(shared);
  const queue = createRevealQueue(options);
  const voters = new Voters({ ...options, queue });
  const lateScores = new LateScores();
  const followed = { limits, coupons, dueUsers, webhooks, lateScores, voters };
  const commands = createCommandRunner({ ...shared, ...followed });
  const userCommands = createUserCommands({ ...shared, limits }, commands);
  const reveals = new Reveals({ ...shared, queue, run: commands.run, reverse: userCommands.reverse });
  const products = createProducts({ ...shared, commands, pools });
  const { finishInterrupted } = products;
  const settled = <T>(user: SpaceUser, read: () => Promise<T>) =>
    readSettled({ ...shared, finishInterrupted }, commands, user, read);
  const dueWork = (user: SpaceUser) =>
    processDueUser(clock, user, { commands, coupons, products, webhooks, voters, users });
  const inbox = new Inbox(shared, settled);
  const historyPage = createHistoryPages(store, settled);
  return {
    ...userCommands,
    ...createUserVerification(shared, limits),
    config: configOf,
    products,
    inbox,
    webhooks,
    codePools: pools,
    coupon: coupons.find,
    profile: createProfiles({ ...shared, finishInterrupted, dueUsers, commands }),
    notifications: async user => (await inbox.unread(user)).map(notificationView),
    history: async (user, range) => (await historyPage(user, range)).transactions,
    historyPage,
    votes: (user, eventId) =>
      ownVotes(store, options.elements, { user, eventId, now: store.now?.() ?? clock() }),
    reader: createSettledReader(shared, settled),
    async processDueUser(user) {
      await dueUsers.register(user, { isActivity: false });
      return await dueWork(user);
    },
    removeUser: user => removeUserState(store, states, user),
    isKept: (user, projectId) => isKeptUser(store, user, projectId),
    async sweep() {
      await commands.deliverLateScores();
      await webhooks.work();
      return await sweepWith(options, dueWork);
    },
    merge: (from, into) => mergeUsers({ ...shared, commands, dueUsers, dueWork }, from, into),
    recount: (user, sum) => recountUser({ ...shared, commands, dueUsers }, user, sum),
    register: async user => await dueUsers.register(user),
    async listAgain(user) {
      users.get(user).forget();
      await dueUsers.register(user);
    },
    users: organisationId => listUsersOf(store, organisationId),
    reveals,
    async idle() {
      await warnings.idle();
      await Promise.all([voters.idle(), reveals.idle(), webhooks.idle()]);
    },
  };
}

function createSettledReader(
  services: Parameters<typeof createLoyaltyReader>[0],
  settled: <T>(user: SpaceUser, read: () => Promise<T>) => Promise<T>,
): LoyaltyReader {
  const reader = createLoyaltyReader(services);
  return { ...reader, ledger: (user, query) => settled(user, () => reader.ledger(user, query)) };
}

function createProfiles(
  services: LoyaltyServices & {
    readonly finishInterrupted: Products["finishInterrupted"];
    readonly dueUsers: DueUserQueue;
    readonly commands: Pick<CommandRunner, "deliver">;
  },
): Loyalty["profile"] {
  const { configOf, clock, finishInterrupted, dueUsers, commands } = services;
  return async user => {
    const config = await configOf(user.spaceId);
    const loaded = await loadOrCreateState(services, dueUsers, user);
    const isFinished = await finishInterrupted(user, loaded.state);
    const current = isFinished ? await loadOrCreateState(services, dueUsers, user) : loaded;
    commands.deliver(user, current);
    return rewardsProfile(config, advanceTime(config, current.state, clock()).state);
  };
}

function createStateCache(): RecordCache<UserState> {
  return new RecordCache({
    key: readState.key,
    parse: parseState,
    print: printState,
    entriesMax: statesMax,
  });
}

function sweepWith(
  options: LoyaltyOptions,
  dueWork: (user: SpaceUser) => Promise<number | null>,
): ReturnType<Loyalty["sweep"]> {
  return sweepDueUsers({
    ...options,
    processUser: user => dueWork({ ...user, projectId: null }),
    onFailed: (_, error) => options.logger.log("warn", "due_user_failed", { error: String(error) }),
  });
}

function inboxPolicies(configOf: ConfigCache): LoyaltyServices["policyOf"] {
  return spaceId =>
    chain(configOf(spaceId), ({ config: { notifications, timeZone } }) => ({ ...notifications, timeZone }));
}

function createHistoryPages(
  store: Store,
  settled: <T>(user: SpaceUser, read: () => Promise<T>) => Promise<T>,
): Loyalty["historyPage"] {
  return async (user, query) => {
    const partition = spaceUserPartition(user);
    const inRange = { ...query, ...inMilliseconds(query) };
    const { transactions, end } = await settled(user, () => readTransactions(store, partition, inRange));
    return { transactions: transactions.map(transactionView), end };
  };
}

function createLoyaltyWebhooks(
  { logger, webhooks, ...options }: LoyaltyOptions,
  configOf: ConfigCache,
): Webhooks {
  return createWebhooks({
    ...options,
    ...webhooks,
    config: spaceId => chain(configOf(spaceId), ({ config }) => config),
    onFailed: (webhookId, error) =>
      logger.log("warn", "webhook_deferred", { webhookId, error: String(error) }),
  });
}

/** Makes Unix milliseconds of a range in Unix seconds; the last second counts as a whole. */
function inMilliseconds({ from, to }: HistoryQuery): {
  readonly from?: number;
  readonly to?: number;
} {
  return {
    ...(from === undefined ? {} : { from: from * 1_000 }),
    ...(to === undefined ? {} : { to: to * 1_000 + 999 }),
  };
}

function notificationView(item: InboxNotification): NotificationView {
  const { createdAt, isRead: _, readAt: __, id, ...notification } = item;
  return { id, timestamp: Math.floor(createdAt / 1_000), ...notification };
}

/** Pause before undelivered scores and unfinished redemptions are tried again, in ms. */
const dueRetryMs = 60_000;
const timeCommand: Command = { isFromSweep: true };

/**
 * Advances the user's time, finishes redemptions, delivers scores and webhook messages, and assigns codes to coupons. Returns when
 * to do so next, in Unix ms; null: never. It may be interrupted anywhere: whichever process finds the user next repeats it.
 */
async function processDueUser(
  clock: Clock,
  user: SpaceUser,
  {
    commands,
    coupons,
    products,
    webhooks,
    voters,
    users,
  }: {
    readonly commands: CommandRunner;
    readonly coupons: Coupons;
    readonly products: Products;
    readonly webhooks: Webhooks;
    readonly voters: Voters;
    readonly users: UserCache;
  },
): Promise<number | null> {
  const settled = await commands.run(user, () => timeCommand);
  const unfinished = await products.finish(user, settled.state);
  const isChanged = settled.state.redemptions.length > unfinished;
  const decision = isChanged ? await commands.run(user, () => timeCommand) : settled;
  const { state, updates } = decision;
  const isListed = await voters.listNow(users.get(user), state.voterOf);
  const isDelivered = (await commands.deliverNow(user, decision)) && isListed;
  if (isDelivered && updates.length + state.voterOf.length > 0) {
    await commands.run(user, () => ({ ...timeCommand, dropsDelivered: true }));
  }
  const giftsLeft = state.gifts.length === 0 ? 0 : await commands.sendGifts(user, state);
  const withoutCode = await coupons.assignCodes(user, state);
  const webhooksDueAt = await webhooks.deliver(user);
  const now = clock();
  const times = [
    state.dueAt,
    webhooksDueAt,
    isDelivered && unfinished === 0 && giftsLeft === 0 ? null : now + dueRetryMs,
    withoutCode === 0 ? null : now + couponRetryMs,
  ].filter(time => time !== null);
  return times.length === 0 ? null : Math.min(...times);
}
