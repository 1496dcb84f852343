/**
 * The loyalty service of a platform: what users earn, have and spend.
 *
 * All of a user's loyalty is in one partition and each command is one commit of it. So commands about one user take effect one after
 * the other, however many arrive at once, and none is lost.
 */

import type * as v from "valibot";
import type { Announcer } from "../../base/outbound/outbound.ts";
import type { Immutable } from "../../http/mod.ts";
import { RecordCache, type Store, type UserRecords } from "../../storage/mod.ts";
import type { Directory, LoyaltyVersions } from "../directory/mod.ts";
import type { Earning, RecountedSum, UserEarnings } from "../leaderboards/mod.ts";
import { readAccountNote, signUpProjectOf } from "../users/mod.ts";
import { decideWithEarnings, joinProject, withRecountedSum } from "./board_sums.ts";
import type { Committed } from "./commit.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import { type ConfigCache, createConfigCache } from "./config/config_cache.ts";
import { createUserCommands, type UserCommands } from "./corrections.ts";
import { type CodePools, createCodePools } from "./coupons/code_pools.ts";
import { type CouponView, createCoupons, createFillWarnings } from "./coupons/coupons.ts";
import { deliverState } from "./deliver.ts";
import { createDueUserQueue, type DueUser, listUsersOf } from "./due_users.ts";
import { advanceTime } from "./engine/advance_time.ts";
import { createGlobalLimits } from "./limits.ts";
import { mergeUsers } from "./merge_users.ts";
import { createProducts, type Products } from "./products/products.ts";
import { type ActionReport, type Reported, report, reportAll } from "./report.ts";
import { type CommandServices, type RunAllOutcome, runCommand } from "./run.ts";
import type { LoyaltyServices } from "./services.ts";
import { processDueUser, sweep } from "./sweep.ts";
import type { NotificationSchema } from "./user/change_payload.ts";
import { type TransactionView, transactionView } from "./user/history.ts";
import { Inbox, type InboxNotification } from "./user/inbox.ts";
import { type HistoryPage, type HistoryQuery, readEarnings, readTransactions } from "./user/read_history.ts";
import {
  type CachedUser,
  createProfileFieldsCache,
  dueInstant,
  type SpaceUser,
  spaceUserPartition,
  UserCache,
  type UserState,
} from "./user/state.ts";
import { parseState, printState, readState } from "./user/stored_state.ts";
import { isKeptUser, loyaltyRecords, removeUnusedState, removeUserState } from "./user/user_records.ts";
import {
  createLoyaltyReader,
  type LoyaltyReader,
  type RewardsProfile,
  rewardsProfile,
} from "./views/loyalty_reader.ts";
import { createUserVerification, type UserVerification } from "./views/verification.ts";
import type { ElementSource } from "./votes/elements.ts";
import { createRevealQueue, Reveals } from "./votes/reveals.ts";
import { Voters } from "./votes/voters.ts";
import { type ListedVotes, ownVotes } from "./votes/votes.ts";
import type { WebhookServices } from "./webhooks/services.ts";
import { createWebhooks, type WebhookAdmin, type Webhooks } from "./webhooks/webhooks.ts";

/** An unread notification as the API shows it. */
type NotificationView = Immutable<v.InferOutput<typeof NotificationSchema>>;

/** Reads and changes the loyalty of users. */
export interface Loyalty extends UserCommands, UserVerification {
  /** Applies an action, once for its id, and returns the user's votes for the element that it names. */
  report(user: SpaceUser, reported: ActionReport): Promise<Reported>;
  /** Applies actions of one user in their order, up to the first that fails. */
  reportAll(user: SpaceUser, reports: readonly ActionReport[]): Promise<RunAllOutcome>;
  /** Returns the compiled configuration of a space; without a promise while it is fresh. */
  config(spaceId: string): CompiledConfig | Promise<CompiledConfig>;
  /** Returns the rewards profile, the same object while nothing changes it; an empty one is created where there is none. */
  profile(user: SpaceUser): RewardsProfile | Promise<RewardsProfile>;
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
  votes(user: SpaceUser, eventId: string): Promise<readonly ListedVotes[]>;
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
  sweep(): ReturnType<typeof sweep>;
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
  /** Removes what is kept about a user without transactions; one who has any stays. */
  removeUnusedUser(user: Pick<SpaceUser, "organisationId" | "userId">): Promise<void>;
  /** The records about a user, for copies of a person's data. */
  readonly userRecords: UserRecords;
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
  const states = new RecordCache({
    key: readState.key,
    parse: parseState,
    print: printState,
    entriesMax: statesMax,
  });
  const profiles = createProfileFieldsCache();
  const shared = { ...options, configOf, states, profiles, users };
  const webhooks = createLoyaltyWebhooks(options, configOf);
  const warnings = createFillWarnings({ ...shared, webhooks });
  const pools = createCodePools({ ...shared, onLow: warnings.onLow });
  const coupons = createCoupons(shared, pools);
  const limits = createGlobalLimits(store);
  const dueUsers = createDueUserQueue(shared);
  const queue = createRevealQueue(options);
  const voters = new Voters({ ...options, queue });
  const services = { ...shared, limits, coupons, dueUsers, webhooks, voters, lateUsers: new Map() };
  const reveals = new Reveals({ ...services, queue });
  const products = createProducts({ ...services, pools });
  const { finishInterrupted } = products;
  const settled: ReadSettled = (user, read) => readSettled(services, finishInterrupted, user, read);
  const dueWork = (user: SpaceUser) => processDueUser({ ...services, products }, user);
  const inbox = new Inbox(shared, settled);
  const reader = createLoyaltyReader(shared);
  return {
    report: report.bind(null, services),
    reportAll: (user, reports) => reportAll(services, user, reports),
    ...createUserCommands(services),
    ...createUserVerification(shared, limits),
    config: configOf,
    products,
    inbox,
    webhooks,
    codePools: pools,
    coupon: coupons.find,
    profile: createProfileReader(services, finishInterrupted),
    notifications: async user => (await inbox.unread(user)).map(notificationView),
    history: async (user, range) => (await readPage(store, settled, user, range)).transactions,
    historyPage: (user, query) => readPage(store, settled, user, query),
    votes: (user, eventId) =>
      ownVotes(store, options.elements, { user, eventId, now: store.now?.() ?? clock() }),
    reader: { ...reader, ledger: (user, query) => settled(user, () => reader.ledger(user, query)) },
    async processDueUser(user) {
      await dueUsers.register(user, { isActivity: false });
      return await dueWork(user);
    },
    removeUser: user => removeUserState(store, states, user),
    removeUnusedUser: user => removeUnusedState(store, user),
    userRecords: loyaltyRecords(store),
    isKept: (user, projectId) => isKeptUser(store, user, projectId),
    sweep: () => sweep(services, dueWork),
    merge: (from, into) => mergeUsers(services, dueWork, from, into),
    recount: (user, sum) => recountUser(services, user, sum),
    register: user => dueUsers.register(user),
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

/** A profile that stays as it is until its user's partition changes, or until a time. */
interface FinishedProfile {
  readonly profile: RewardsProfile;
  readonly config: CompiledConfig;
  /** Number of the last change of the partition before it was read. */
  readonly change: number;
  /** Unix ms, exclusive. */
  readonly until: number;
}

/**
 * Creates the reader of rewards profiles. Where the store knows that nothing of a user has changed, and nothing of the user waits for
 * its delivery, the profile is the one of the last read.
 */
function createProfileReader(
  services: CommandServices,
  finishInterrupted: Products["finishInterrupted"],
): Loyalty["profile"] {
  const { store, configOf, clock, users } = services;
  const finished = new WeakMap<CachedUser, FinishedProfile>();
  async function read(user: SpaceUser): Promise<RewardsProfile> {
    const cachedUser = users.get(user);
    const change = store.lastChange?.(cachedUser.partition);
    const config = await configOf(user.spaceId);
    const loaded = await loadOrCreateState(services, user);
    const isFinished = await finishInterrupted(user, loaded.state);
    const current = isFinished ? await loadOrCreateState(services, user) : loaded;
    const isDelivered = current.updates.length === 0 && current.state.revision === cachedUser.indexedRevision;
    deliverState(services, cachedUser, current);
    const { state } = advanceTime(config, current.state, clock());
    const profile = rewardsProfile(config, state);
    // A redemption under way may be interrupted later, and a user without a project may join one.
    if (change !== undefined && isDelivered && state.redemptions.length === 0 && state.projectId !== null)
      finished.set(cachedUser, { profile, config, change, until: state.dueAt ?? Number.POSITIVE_INFINITY });
    return profile;
  }
  return user => {
    const cachedUser = users.get(user);
    const known = finished.get(cachedUser);
    const isCurrent =
      known !== undefined &&
      known.change === store.lastChange?.(cachedUser.partition) &&
      known.config === configOf(user.spaceId) &&
      clock() < known.until;
    return isCurrent ? known.profile : read(user);
  };
}

/** Reads a page of a range in Unix seconds; the last second counts as a whole. */
async function readPage(
  store: Store,
  settled: ReadSettled,
  user: SpaceUser,
  { from = 0, to = Number.POSITIVE_INFINITY, ...query }: HistoryQuery,
): Promise<HistoryPage<TransactionView>> {
  const range = { from: from * 1_000, to: Math.min(to * 1_000 + 999, Number.MAX_SAFE_INTEGER) };
  const { transactions, end } = await settled(user, () =>
    readTransactions(store, spaceUserPartition(user), { ...query, ...range }),
  );
  return { transactions: transactions.map(transactionView), end };
}

function createLoyaltyWebhooks(
  { logger, webhooks, ...options }: LoyaltyOptions,
  configOf: ConfigCache,
): Webhooks {
  return createWebhooks({
    ...options,
    ...webhooks,
    config: async spaceId => (await configOf(spaceId)).config,
    onFailed: (webhookId, error) =>
      logger.log("warn", "webhook_deferred", { webhookId, error: String(error) }),
  });
}

function notificationView(item: InboxNotification): NotificationView {
  const { createdAt, isRead: _, readAt: __, id, ...notification } = item;
  return { id, timestamp: Math.floor(createdAt / 1_000), ...notification };
}

/**
 * Loads the state of a user, with the board scores to deliver, and creates an empty one where there is none. A state that a back
 * end created before the user's project was known joins the project.
 */
async function loadOrCreateState(
  services: CommandServices,
  user: SpaceUser,
): Promise<Pick<Committed, "state" | "updates">> {
  const { store, users, states, dueUsers } = services;
  const cachedUser = users.get(user);
  const { partition } = cachedUser;
  const [stored] = await store.read(partition, [states.query]);
  const state = stored === null ? null : states.valueOf(partition, stored);
  const lacksProject = state !== null && state.projectId === null && user.projectId !== null;
  if (state !== null && !lacksProject) {
    cachedUser.hasRecord = true;
    return { state, updates: cachedUser.withoutDelivered(state.undelivered) };
  }
  if (state === null && cachedUser.hasRecord) cachedUser.forget();
  await dueUsers.register(cachedUser);
  return await joinProject(services, cachedUser, user.projectId);
}

/** Reads something of a user after what time alone has changed is stored. */
type ReadSettled = <T>(user: SpaceUser, read: () => Promise<T>) => Promise<T>;

/**
 * Reads something of a user, after what time alone has changed is stored and interrupted redemptions are finished: lists then agree
 * with balances. Where there is nothing to do, the check costs no further round trip.
 */
async function readSettled<T>(
  services: CommandServices,
  /** Finishes redemptions that a stopped process left; false where there are none. */
  finishInterrupted: (user: SpaceUser, state: UserState) => Promise<boolean>,
  user: SpaceUser,
  read: () => Promise<T>,
): Promise<T> {
  const { store, clock, states } = services;
  const partition = spaceUserPartition(user);
  const [[stored], found] = await Promise.all([store.read(partition, [states.query]), read()]);
  if (stored === null) return found;
  const state = states.valueOf(partition, stored);
  const isTimeDue = dueInstant(state, clock()) !== null;
  if (isTimeDue) await runCommand(services, user, () => ({ kind: "time" }));
  return (await finishInterrupted(user, state)) || isTimeDue ? await read() : found;
}

/**
 * Reads what a user gained; null where there is no such user. Corrects the running sum to it, whatever the user does meanwhile, and
 * gives a user without a project that of the sign-up.
 */
async function recountUser(
  services: CommandServices,
  user: SpaceUser,
  sum: RecountedSum | null,
): Promise<UserEarnings | null> {
  const found = await readAndCorrect(services, user, sum);
  if (found?.projectId !== null) return found;
  const { store, users, dueUsers } = services;
  const [account] = await store.read(spaceUserPartition(user), [readAccountNote]);
  if (signUpProjectOf(account) === null) return found;
  await dueUsers.register(user, { isActivity: false });
  const cachedUser = users.get(user);
  deliverState(services, cachedUser, await joinProject(services, cachedUser, null));
  return await readAndCorrect(services, user, sum);
}

async function readAndCorrect(
  services: LoyaltyServices,
  user: SpaceUser,
  sum: RecountedSum | null,
): Promise<UserEarnings | null> {
  const { store, states, clock } = services;
  const { state, earnings } = await readEarnings(store, states, user);
  if (state === null || state.mergedInto !== null) return null;
  const found = userEarnings(state, earnings);
  if (sum === null || withRecountedSum(state, sum, { earnings: found, now: clock() }) === state) return found;
  return await decideWithEarnings(services, user, ({ state: stored, earnings: recorded }) => {
    if (stored === null || stored.mergedInto !== null) return { writes: [], answer: null };
    const answer = userEarnings(stored, recorded);
    const corrected = withRecountedSum(stored, sum, { earnings: answer, now: clock() });
    return { writes: corrected === stored ? [] : [states.put(corrected)], answer };
  });
}

function userEarnings(
  { projectId, revision, changedAt, metrics }: UserState,
  earnings: readonly Earning[],
): UserEarnings {
  return { projectId, revision, changedAt, metrics, earnings };
}
