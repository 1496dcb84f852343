/**
 * The loyalty of users: reading it, and applying what they do.
 *
 * All of a user's loyalty is in one partition, and an action is one read and one commit of it, so that actions of one
 * user, however many arrive at once, take effect one after the other and none is lost.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import type { Directory, LoyaltyVersions } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import { chain, type Logger } from "../http/mod.ts";
import type { ScoreFeed, ScoreUpdate } from "../ports/score_feed.ts";
import { decide, type LogEntry, Parsed, type Store } from "../storage/mod.ts";
import { stateOf } from "./adoption.ts";
import type { CompiledConfig } from "./compile.ts";
import { createConfigs } from "./configs.ts";
import { Deliveries } from "./deliveries.ts";
import type { Notification, Transaction } from "./history.ts";
import { createInbox, type Inbox } from "./inbox.ts";
import type { InboxNotification } from "./inbox_view.ts";
import { type Member, memberPartition } from "./member.ts";
import { type RewardsProfile, rewardsProfile } from "./profile.ts";
import { type Report, reportRule } from "./report.ts";
import type { UserState } from "./state.ts";

/** Number of users whose state a process keeps parsed. */
export const parsedStatesMax = 10_000;
/** Most transactions that one history request answers. */
export const historyPageMax = 1_000;

/** A transaction or notification as the API shows it; `timestamp` in Unix seconds. */
export type Dated<T> = T & { readonly id: string; readonly timestamp: number };

/** Reads and changes the loyalty of users. */
export interface Loyalty {
  /** The configuration of a space, compiled; without a promise while it is fresh. */
  config(spaceId: string): CompiledConfig | Promise<CompiledConfig>;
  /** The rewards profile; an empty one is created where there is none. */
  profile(member: Member): Promise<RewardsProfile>;
  /** The notifications of users, read and unread. */
  readonly inbox: Inbox;
  /** Unread notifications as the loyalty API shows them, oldest first. */
  notifications(member: Member): Promise<readonly Dated<Notification>[]>;
  /** Transactions in ascending time, from `from` to `to` (Unix seconds, both inclusive), at most a page of them. */
  history(
    member: Member,
    range: { readonly from?: number; readonly to?: number },
  ): Promise<readonly Dated<Transaction>[]>;
  /**
   * Applies an action; it has taken effect when the promise resolves. Boards follow in the background.
   *
   * @throws {AppError} `forbidden` where the action is not one that this caller may report.
   */
  report(member: Member, report: Report): Promise<void>;
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
}

/** Creates the loyalty of all spaces. */
export function createLoyalty(options: LoyaltyOptions): Loyalty {
  const { store, clock, feed } = options;
  const configOf = createConfigs(options);
  const deliveries = new Deliveries();
  const inbox = createInbox({
    store,
    clock,
    policyOf: spaceId =>
      chain(configOf(spaceId), ({ config: { notifications, timeZone } }) => ({ ...notifications, timeZone })),
  });
  const states = new Parsed<UserState>(text => JSON.parse(text), parsedStatesMax);
  function deliver(member: Member, updates: readonly ScoreUpdate[]): void {
    if (updates.length === 0) return;
    feed.deliver(member.userId, updates, () => deliveries.add(memberPartition(member), updates));
  }
  return {
    config: configOf,
    async profile(member) {
      const config = await configOf(member.spaceId);
      const { state, updates } = await stateOf(store, member, { deliveries, feed, states });
      deliver(member, updates);
      return rewardsProfile(config, state);
    },
    inbox,
    notifications: async member => (await inbox.unread(member)).map(shownNotification),
    async history(member, { from, to }) {
      const bounds = {
        ...(from === undefined ? {} : { from: from * 1_000 }),
        ...(to === undefined ? {} : { to: to * 1_000 + 999 }),
      };
      const [entries] = await store.read(memberPartition(member), [
        { type: "log", key: "history", limit: historyPageMax, ...bounds },
      ]);
      return entries.map(dated<Transaction>);
    },
    async report(member, report) {
      const config = await configOf(member.spaceId);
      requireReportable(config, report);
      const partition = memberPartition(member);
      const context = { config, member, report, now: clock(), isDelivered: deliveries.of(partition) };
      // The boards depend on the project, and which one it is only the user's own record knows for certain.
      for (let projectId = member.projectId; ; ) {
        const targets =
          projectId === null ? [] : await feed.targets(projectId, targetQuery(report, context.now));
        const decided = await decide(store, partition, reportRule({ ...context, projectId, targets }));
        if (decided.projectId === projectId) return deliver(member, decided.updates);
        projectId = decided.projectId;
      }
    },
  };
}

function requireReportable(config: CompiledConfig, { action, isClientReport }: Report): void {
  const plan = config.actions.get(action);
  if (plan === undefined || (isClientReport && !plan.clientReportable)) {
    throw new AppError("forbidden", "Cannot report the action as it is not one that this caller may report");
  }
}

function targetQuery({ action, data }: Report, at: number): Parameters<ScoreFeed["targets"]>[1] {
  const eventId = Object.hasOwn(data, "eventId") ? data.eventId : undefined;
  return { action, eventId: typeof eventId === "string" ? eventId : null, at };
}

function shownNotification(item: InboxNotification): Dated<Notification> {
  const { createdAt, isRead: _, readAt: __, id, ...notification } = item;
  return { id, timestamp: Math.floor(createdAt / 1_000), ...notification };
}

function dated<T>({ id, at, value }: LogEntry): Dated<T> {
  return { id, timestamp: Math.floor(at / 1_000), ...(JSON.parse(value) as T) };
}
