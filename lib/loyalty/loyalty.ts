/**
 * The loyalty of users: reading it, and applying what they do.
 *
 * All of a user's loyalty is in one partition, and an action is one read and one commit of it, so that actions of one
 * user, however many arrive at once, take effect one after the other and none is lost.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import type { Directory, LoyaltyDocument } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import { chain } from "../http/mod.ts";
import type { ScoreFeed, ScoreUpdate } from "../ports/score_feed.ts";
import {
  decide,
  type LogEntry,
  type Partition,
  type ReadRecord,
  type Rule,
  type Store,
} from "../storage/mod.ts";
import type { Notification, Transaction } from "./apply_action.ts";
import { type CompiledConfig, compileConfig } from "./compile.ts";
import { Deliveries } from "./deliveries.ts";
import { type Member, memberPartition } from "./member.ts";
import { notificationsMax, type Report, reportRule } from "./report.ts";
import { emptyState, type RewardsProfile, rewardsProfile, type UserState } from "./state.ts";

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
  /** Unread notifications, oldest first. */
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
  readonly clock: Clock;
  readonly feed: ScoreFeed;
}

/** Creates the loyalty of all spaces. */
export function createLoyalty({ store, directory, clock, feed }: LoyaltyOptions): Loyalty {
  const configOf = createConfigs(directory);
  const deliveries = new Deliveries();
  return {
    config: configOf,
    async profile(member) {
      return await profile(store, await configOf(member.spaceId), member);
    },
    async notifications(member) {
      const [entries] = await store.read(memberPartition(member), [
        { type: "log", key: "notifications", limit: notificationsMax },
      ]);
      return entries.map(dated<Notification>);
    },
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
      const projectId = member.projectId ?? (await knownProject(store, partition));
      const targets = projectId === null ? [] : await feed.targets(projectId, targetQuery(report));
      const isDelivered = (update: ScoreUpdate): boolean => deliveries.has(partition, update);
      const rule = reportRule({ config, member, report, targets, now: clock(), isDelivered });
      const updates = await decide(store, partition, rule);
      if (updates.length > 0) feed.deliver(member.userId, updates, () => deliveries.add(partition, updates));
    },
  };
}

function requireReportable(config: CompiledConfig, { action, isClientReport }: Report): void {
  const plan = config.actions.get(action);
  if (plan === undefined || (isClientReport && !plan.clientReportable)) {
    throw new AppError("forbidden", "Cannot report the action as it is not one that this caller may report");
  }
}

function targetQuery({ action, data }: Report): { readonly action: string; readonly eventId: string | null } {
  const eventId = Object.hasOwn(data, "eventId") ? data.eventId : undefined;
  return { action, eventId: typeof eventId === "string" ? eventId : null };
}

/** The project that a user was last known to belong to, for back ends that act for users. */
async function knownProject(store: Store, partition: Partition): Promise<string | null> {
  const [stored] = await store.read(partition, [{ type: "record", key: "loyalty" }]);
  return stored === null ? null : (JSON.parse(stored.value) as UserState).projectId;
}

async function profile(store: Store, config: CompiledConfig, member: Member): Promise<RewardsProfile> {
  const partition = memberPartition(member);
  const [stored] = await store.read(partition, [{ type: "record", key: "loyalty" }]);
  const found = stored === null ? null : (JSON.parse(stored.value) as UserState);
  if (found !== null && (found.projectId !== null || member.projectId === null)) {
    return rewardsProfile(config, found);
  }
  return rewardsProfile(config, await decide(store, partition, adoption(member)));
}

/**
 * Creates the state of a user who has none. A state that a back end's report created first learns the user's project, so
 * that boards are fed by what is reported from then on.
 */
function adoption({ projectId }: Member): Rule<readonly [ReadRecord], UserState> {
  return {
    reads: [{ type: "record", key: "loyalty" }],
    idempotent: true,
    apply: ([stored]) => {
      const before = stored === null ? emptyState(projectId) : (JSON.parse(stored.value) as UserState);
      const state: UserState = { ...before, projectId: before.projectId ?? projectId };
      const value = JSON.stringify(state);
      return {
        writes: value === stored?.value ? [] : [{ type: "put", key: "loyalty", value }],
        answer: state,
      };
    },
  };
}

/** Compiled once per version: the directory keeps the document's object for as long as it is unchanged. */
function createConfigs(directory: Directory): Loyalty["config"] {
  const compiled = new WeakMap<LoyaltyDocument, CompiledConfig>();
  const none = compileConfig({});
  return spaceId =>
    chain(directory.loyalty(spaceId), stored => {
      if (stored === null) return none;
      const known = compiled.get(stored) ?? compileStored(stored, spaceId);
      compiled.set(stored, known);
      return known;
    });
}

function compileStored({ document }: LoyaltyDocument, spaceId: string): CompiledConfig {
  try {
    return compileConfig(document);
  } catch (cause) {
    throw new AppError("internal_error", `Cannot use the stored loyalty configuration of space ${spaceId}`, {
      cause,
    });
  }
}

function dated<T>({ id, at, value }: LogEntry): Dated<T> {
  return { id, timestamp: Math.floor(at / 1_000), ...(JSON.parse(value) as T) };
}
