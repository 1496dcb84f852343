/**
 * The loyalty of users: reading it, and applying what they do.
 *
 * All of a user's loyalty is in one partition, and an action is one commit of it, after a read where the process does not
 * know the user. So actions of one user, however many arrive at once, take effect one after the other and none is lost.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import type { Directory, LoyaltyVersions } from "../directory/mod.ts";
import { chain, type Logger } from "../http/mod.ts";
import type { ScoreFeed, UserEarnings } from "../leaderboards/mod.ts";
import type { Announcer } from "../outbound/announcer.ts";
import { RecordCache, type Store } from "../storage/mod.ts";
import { type AdjustmentOrder, adjustmentCommand } from "./commands/adjustments.ts";
import type { CommandDecision } from "./commands/command.ts";
import { type CommandRunner, createCommandRunner, limitClaimant } from "./commands/command_runner.ts";
import {
  type GrantOrder,
  grantCommand,
  requireRewards,
  requireTransaction,
  reversalCommand,
} from "./commands/grants.ts";
import { loadOrCreateState } from "./commands/load_or_create.ts";
import { type ActionReport, reportCommand, requireReportable } from "./commands/report.ts";
import { createSettleBeforeRead } from "./commands/settle_before_read.ts";
import { compileConfig } from "./config/compile.ts";
import type { CompiledConfig } from "./config/compiled.ts";
import { type ConfigCache, createConfigCache } from "./config/config_cache.ts";
import { type CodePools, type CouponView, createCodePools, createCoupons } from "./coupons/mod.ts";
import {
  createDueUserQueue,
  type DueUser,
  listUsersOf,
  type SweepResult,
  sweepDueUsers,
} from "./due_users/mod.ts";
import { advanceTime, type DryRun, dryRun } from "./engine/mod.ts";
import type { Reconciliation } from "./ledger/mod.ts";
import { createGlobalLimits, type GlobalLimits } from "./limits/global_limits.ts";
import { processDueUser } from "./process_due_user.ts";
import { createProducts, type Products } from "./products/mod.ts";
import type { ChangePayload, HistoryTransaction, Notification } from "./user/history.ts";
import { Inbox, type InboxOptions } from "./user/inbox.ts";
import type { InboxNotification } from "./user/inbox_view.ts";
import { type Member, memberPartition, UserCache } from "./user/member.ts";
import { readTransactions } from "./user/read_history.ts";
import { emptyState, type UserState } from "./user/state.ts";
import { parseState, printState, readState } from "./user/stored_state.ts";
import { readEarnings } from "./views/earnings.ts";
import { createLoyaltyReader, type LoyaltyReader } from "./views/loyalty_reader.ts";
import { type RewardsProfile, rewardsProfile } from "./views/profile.ts";
import { type ReplayResult, reconcileUser, replayUser, type UserSource } from "./views/verification.ts";
import {
  createWebhooks,
  type WebhookAdmin,
  type Webhooks,
  type WebhooksOptions,
} from "./webhooks/webhooks.ts";

/** Number of users whose state a process keeps parsed. */
export const parsedStatesMax = 10_000;

/** A transaction or notification as the API shows it; `timestamp` in Unix seconds. */
export type Dated<T> = T & { readonly id: string; readonly timestamp: number };

/** A transaction as the API shows it. */
export type TransactionView = Dated<{ readonly type: string; readonly payload: ChangePayload }>;

/** Reads and changes the loyalty of users. */
export interface Loyalty {
  /** The configuration of a space, compiled; without a promise while it is fresh. */
  config(spaceId: string): CompiledConfig | Promise<CompiledConfig>;
  /** The rewards profile; an empty one is created where there is none. */
  profile(member: Member): Promise<RewardsProfile>;
  /** Looks at users without changing anything. */
  readonly reader: LoyaltyReader;
  /** The notifications of users, read and unread. */
  readonly inbox: Inbox;
  /** Unread notifications as the loyalty API shows them, oldest first. */
  notifications(member: Member): Promise<readonly Dated<Notification>[]>;
  /** The pools that the codes of unique coupons come from. */
  readonly codePools: CodePools;
  /**
   * A coupon of the user, by its own id, or the newest one of that coupon of the configuration. One that is still without
   * a code is given one if there is any.
   *
   * @throws {AppError} `not_found` where the user has no such coupon, or it has expired.
   */
  coupon(member: Member, id: string): Promise<CouponView>;
  /** Transactions in ascending time, from `from` to `to` (Unix seconds, both inclusive), at most a page of them. */
  history(
    member: Member,
    range: { readonly from?: number; readonly to?: number },
  ): Promise<readonly TransactionView[]>;
  /**
   * Applies an action; it has taken effect when the promise resolves. Boards follow in the background. Answers false where an
   * action with the same id took effect before.
   *
   * @throws {AppError} `forbidden` where the action is not one that this caller may report, `validation_failed` where its
   *   data are not as declared.
   */
  report(member: Member, report: ActionReport): Promise<boolean>;
  /**
   * What an action would do now, and why it would not do more. Nothing changes.
   *
   * @throws {AppError} As {@linkcode report} does.
   */
  dryRun(member: Member, report: ActionReport): Promise<DryRun>;
  /**
   * Gives rewards; null where an order with the same id was carried out before.
   *
   * @throws {AppError} `validation_failed` where the configuration does not name one of them.
   */
  grant(member: Member, order: GrantOrder): Promise<TransactionView | null>;
  /**
   * Corrects metrics, within their bounds, and tells the id of the transaction; null where they were as they are to be.
   *
   * @throws {AppError} `validation_failed` where the configuration does not name one of them.
   */
  adjust(member: Member, order: AdjustmentOrder): Promise<string | null>;
  /** What users buy with what they have earned. */
  readonly products: Products;
  /**
   * Takes a transaction back.
   *
   * @throws {AppError} `not_found`, or `conflict` where that was done already or the transaction changed nothing.
   */
  reverse(member: Member, transactionId: string): Promise<TransactionView>;
  /**
   * Stores what time alone has changed, delivers what waits for boards and webhooks, gives codes to coupons that are without,
   * and says when to look again, in Unix ms; null: never.
   */
  processDueUser(member: Member): Promise<number | null>;
  /**
   * Attends to every user of all organisations who is due: whose last change within an hour may have been interrupted, or whom
   * time alone changes. To be called again and again; calls that overlap, in one process or several, do no harm.
   */
  sweep(): Promise<SweepResult>;
  /** Lists a user among those of the organisation, although nothing happens to the user's loyalty. */
  register(member: Member): Promise<void>;
  /** Every user of an organisation who has ever done anything. */
  users(organisationId: string): AsyncIterable<DueUser>;
  /** The webhooks of all spaces: what they are told beside this, and how they do. */
  readonly webhooks: Announcer & WebhookAdmin;
  /** Resolves when no webhook is told anything any more. */
  idle(): Promise<void>;
  /** Proves that the user's metrics are what the ledger entries add up to. Throws `not_found` where nothing is on record. */
  reconcile(member: Member): Promise<Reconciliation>;
  /**
   * Replays the user's history against a configuration document, by default the current one, and tells the difference.
   *
   * @throws {AppError} `validation_failed` where the document is not a configuration, `not_found` where nothing is on record
   *   of the user.
   */
  replay(member: Member, document?: unknown): Promise<ReplayResult>;
  /** What is recorded of the user's gains, from which boards are rebuilt; null where there is no such user. */
  earnings(member: Member): Promise<UserEarnings | null>;
}

/** What loyalty needs. */
export interface LoyaltyOptions {
  readonly store: Store;
  readonly directory: Directory;
  /** Where an earlier version is found when the current one cannot be used. */
  readonly versions: Pick<LoyaltyVersions, "list" | "get">;
  readonly clock: Clock;
  readonly feed: ScoreFeed;
  readonly logger: Logger;
  /** Names this process among those that sweep. */
  readonly holder: string;
  /** Tells webhooks what happened. */
  readonly webhooks: Pick<WebhooksOptions, "sender" | "keyOf">;
}

/** Creates the loyalty of all spaces. */
export function createLoyalty(options: LoyaltyOptions): Loyalty {
  const { store, clock, feed, logger } = options;
  const configOf = createConfigCache(options);
  const users = new UserCache();
  const policyOf: InboxOptions["policyOf"] = spaceId =>
    chain(configOf(spaceId), ({ config: { notifications, timeZone } }) => ({ ...notifications, timeZone }));
  const states = new RecordCache<UserState>({
    key: readState.key,
    parse: parseState,
    print: printState,
    entriesMax: parsedStatesMax,
  });
  const pools = createCodePools({ store, clock });
  const coupons = createCoupons({ store, clock, pools, states, configOf });
  const limits = createGlobalLimits(store);
  const agenda = createDueUserQueue({ store, clock, users });
  const webhooks = webhooksOf(options, configOf);
  const changes = createCommandRunner({
    ...{ ...options, configOf, states, users },
    ...{ limits, coupons, agenda, webhooks },
  });
  const products = createProducts({ store, clock, logger, configOf, changes, states, pools });
  const sight = createLoyaltyReader({ store, clock, configOf, states, policyOf });
  const look = createSettleBeforeRead({ store, clock, states, changes });
  const inbox = new Inbox({ store, clock, policyOf, settleBeforeRead: look });
  const attendance = { clock, changes, coupons, redemptions: products, webhooks };
  return {
    config: configOf,
    async profile(member) {
      const config = await configOf(member.spaceId);
      const { state, updates } = await loadOrCreateState(store, member, { users, feed, states, agenda });
      changes.deliverScores(member, updates);
      return rewardsProfile(config, advanceTime(config, state, clock()).state);
    },
    reader: { ...sight, ledger: (member, query) => look(member, () => sight.ledger(member, query)) },
    inbox,
    notifications: async member => (await inbox.unread(member)).map(shownNotification),
    codePools: pools,
    coupon: coupons.find,
    async history(member, { from, to }) {
      const range = {
        ...(from === undefined ? {} : { from: from * 1_000 }),
        ...(to === undefined ? {} : { to: to * 1_000 + 999 }),
      };
      const transactions = await look(member, () => readTransactions(store, memberPartition(member), range));
      return transactions.map(shownTransaction);
    },
    ...createOrders(store, changes),
    ...createChecks({ store, clock, states, limits, configOf }),
    products,
    async processDueUser(member) {
      await agenda.register(member, { isActivity: false });
      return await processDueUser(attendance, member);
    },
    async sweep() {
      await webhooks.work();
      return await sweepDueUsers({
        ...options,
        processUser: user => processDueUser(attendance, { ...user, projectId: null }),
        onFailed: (_, error) => logger.log("warn", "user_not_attended", { error: String(error) }),
      });
    },
    register: async member => await agenda.register(member),
    users: organisationId => listUsersOf(store, organisationId),
    webhooks,
    idle: webhooks.idle,
  };
}

/** What is asked to happen to users. */
function createOrders(
  store: Store,
  { run: change }: CommandRunner,
): Pick<Loyalty, "report" | "grant" | "adjust" | "reverse"> {
  return {
    report: (member, report) =>
      change(member, (config, now) => {
        requireReportable(config, report);
        return reportCommand(config, report, now);
      }).then(hasHappened),
    async grant(member, order) {
      const decided = await change(member, (config, now) => {
        requireRewards(config, order.rewards, now);
        return grantCommand(config, order, now);
      });
      return firstTransaction(decided);
    },
    async adjust(member, order) {
      const decided = await change(member, (config, now) => adjustmentCommand(config, order, now));
      return decided.result === null ? null : decided.recordId;
    },
    async reverse(member, transactionId) {
      await requireTransaction(store, { member, transactionId });
      const decided = await change(member, (config, now) => reversalCommand(config, transactionId, now));
      const transaction = firstTransaction(decided);
      if (transaction === null) throw new TypeError("Expected a reversal to have a transaction");
      return transaction;
    },
  };
}

interface CheckParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly states: RecordCache<UserState>;
  readonly limits: GlobalLimits;
  readonly configOf: ConfigCache;
}

/** What would happen to a user, and whether what is on record of one adds up; nothing of it changes anything. */
function createChecks({
  store,
  clock,
  states,
  limits,
  configOf,
}: CheckParts): Pick<Loyalty, "dryRun" | "earnings" | "reconcile" | "replay"> {
  async function storedState(member: Member): Promise<UserState> {
    const partition = memberPartition(member);
    const [stored] = await store.read(partition, [states.query]);
    return stored === null ? emptyState(member.projectId) : states.valueOf(partition, stored);
  }
  const sourceOf = (member: Member): UserSource => ({ store, partition: memberPartition(member), states });
  return {
    async dryRun(member, report) {
      const config = await configOf(member.spaceId);
      requireReportable(config, report);
      const { action: name, data } = report;
      const at = clock();
      const [state, reached] = await Promise.all([
        storedState(member),
        limits.reached(limitClaimant(member, { at, config }), config.limitedRules.values()),
      ]);
      return dryRun(config, state, { name, data, at }, reached);
    },
    earnings: member => readEarnings(sourceOf(member)),
    reconcile: async member => reconcileUser(sourceOf(member), await configOf(member.spaceId)),
    async replay(member, document) {
      const config = document === undefined ? await configOf(member.spaceId) : compileConfig(document);
      return await replayUser(sourceOf(member), config, clock());
    },
  };
}

function webhooksOf({ logger, webhooks, ...options }: LoyaltyOptions, configOf: ConfigCache): Webhooks {
  return createWebhooks({
    ...options,
    ...webhooks,
    config: spaceId => chain(configOf(spaceId), ({ config }) => config),
    onFailed: (webhookId, error) =>
      logger.log("warn", "webhook_deferred", { webhookId, error: String(error) }),
  });
}

function hasHappened({ result: outcome }: CommandDecision): boolean {
  return outcome !== null;
}

function firstTransaction({ result: outcome, recordId }: CommandDecision): TransactionView | null {
  const [first] = outcome?.record.transactions ?? [];
  if (outcome === null || first === undefined || recordId === null) return null;
  return shownTransaction({ ...first, id: recordId, at: outcome.record.at });
}

function shownTransaction({ id, at, type, payload }: HistoryTransaction): TransactionView {
  return { id, timestamp: Math.floor(at / 1_000), type, payload };
}

function shownNotification(item: InboxNotification): Dated<Notification> {
  const { createdAt, isRead: _, readAt: __, id, ...notification } = item;
  return { id, timestamp: Math.floor(createdAt / 1_000), ...notification };
}
