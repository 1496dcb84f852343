/** The stored loyalty of a user. */

import { endOfPeriod, isTimeZone } from "../../../base/calendar/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { JsonMembers } from "../../../base/text/mod.ts";
import { Cache } from "../../../storage/background/mod.ts";
import { type Partition, RecordCache, tenantPartition } from "../../../storage/mod.ts";
import type { ScoreUpdate } from "../../leaderboards/scores/score_delivery.ts";
import { type CompiledConfig, ownValue } from "../config/compiled.ts";
import type { ActionData, Fulfilment, Price } from "../config/document.ts";
import type { SingleReward } from "../config/parts.ts";
import type { LedgerEntry, Lot } from "../ledger/movements.ts";
import type { ItemId } from "./change_payload.ts";

export interface ChallengeProgress {
  /** `none`: between two runs. */
  readonly status: "none" | "in_progress" | "completed" | "failed";
  /** Id of the run: that of the calendar period, or a number from 1 on. */
  readonly run: string;
  /** Unix ms. */
  readonly startedAt: number;
  /** Unix ms, exclusive: a run in progress fails then, another makes room for the next. Null: never. */
  readonly endsAt: number | null;
  /** Unix ms; null: in progress. */
  readonly endedAt: number | null;
  readonly counts: Readonly<Record<string, number>>;
  /** The keys of the values that distinct missions have counted, by mission. */
  readonly values?: Readonly<Record<string, readonly string[]>>;
  readonly missionsCompleted: readonly string[];
  /** Number of completed runs, this one included. */
  readonly completions: number;
}

export interface MilestoneProgress {
  readonly milestoneId: string;
  /** The threshold at that time. Milestones up to it are not reached again, even if the set changes. */
  readonly threshold: number;
  /** Unix ms at which the user has to requalify. @default never */
  readonly until?: number;
}

export interface UserCoupon {
  readonly id: string;
  readonly couponId: string;
  /** Null: no code of the pool was claimed yet. */
  readonly code: string | null;
  /** Unix ms. */
  readonly receivedAt: number;
  /** Unix ms, exclusive; null: never. */
  readonly expiresAt: number | null;
}

/** A count of actions within the window of its definition. */
export type Counter =
  /** A count or sum over all time. */
  | { readonly total: number }
  /** Buckets too old for late actions are dropped. */
  | { readonly buckets: CounterBuckets }
  /** The number of consecutive buckets up to the last one, and the earlier runs that late actions may join, newest first. */
  | {
      readonly last: number;
      readonly length: number;
      readonly earlier?: readonly (readonly [last: number, length: number])[];
    }
  /** By the keys of values, those used first come first: a count over all time, or buckets. */
  | { readonly values: Readonly<Record<string, number | CounterBuckets>> };

/** The amounts of calendar steps, ascending. */
export type CounterBuckets = readonly (readonly [bucket: number, amount: number])[];

/**
 * Points ever earned and spent. Points taken back by a reversal or correction count as never earned, so that earned minus spent
 * minus expired is the gain of a metric; `earned` may therefore be negative.
 */
type LifetimeTotals = readonly [earned: number, spent: number];

export type RunningSum =
  | readonly [total: number]
  /** Unix ms: nothing is added later. */
  | readonly [total: number, keepUntil: number];

/** The reason for which a redemption is not possible. */
export type RedemptionFault = "not_available" | "out_of_stock" | "limit_reached" | "insufficient_balance";

/**
 * The status of a redemption. `reserved`: paid, the rest is undecided; `pending`: to be handed over; `completed`: handed over;
 * `rejected`: nothing to sell, the price was given back; `refunded`: an operator gave the price back.
 */
export type RedemptionStatus = "reserved" | "pending" | "completed" | "rejected" | "refunded";

export interface Received {
  readonly items: readonly ItemId[];
  /** Ids of the user's own coupons. */
  readonly coupons: readonly string[];
}

export const nothingReceived: Received = { items: [], coupons: [] };

/**
 * A redemption of a product. It is in the state of its user while stock or a code is to be taken or given back, and otherwise in a
 * record of its own.
 */
export interface Redemption {
  readonly id: string;
  readonly productId: string;
  readonly quantity: number;
  readonly cost: Price;
  readonly status: RedemptionStatus;
  readonly fault?: RedemptionFault;
  readonly fulfilment: Fulfilment;
  /** True if it takes units of a limited stock, or gives them back once it is refunded. */
  readonly takesStock: boolean;
  /** The period in which its units count. @default all that were ever sold count together */
  readonly stockPeriod?: string;
  /** The pool of the code, if the product needs one. */
  readonly poolId?: string;
  /** The ledger entries of the payment, which a refund reverses. */
  readonly paid: readonly LedgerEntry[];
  readonly received: Received;
  /** Unix ms for which the purchase counts. */
  readonly boughtAt: number;
  /** Unix ms. */
  readonly changedAt: number;
  readonly metadata?: ActionData;
}

/** Rewards that a rule gives to another user, until that user has them or is known not to get them. */
export interface Gift {
  readonly id: string;
  readonly ruleId: string;
  /** The id of the other user as the action named it. */
  readonly userId: string;
  readonly rewards: readonly SingleReward[];
}

/** Successive records of a history and the bytes of their texts. */
export type HistoryPart = readonly [records: number, bytes: number];

/** The loyalty of a user: one record, changed only through `decide`. */
export interface UserState {
  readonly revision: number;
  /** The time of the last change, in Unix ms. */
  readonly changedAt: number;
  /** The version of the configuration that decided last. */
  readonly config: string;
  /** The project whose boards get the user's scores; null: none yet. */
  readonly projectId: string | null;
  /** Null: that of the document. */
  readonly zone: UserZone | null;
  /** Usable balances of the metrics that ever changed. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Totals of the metrics that ever changed by anything but time. */
  readonly lifetime: Readonly<Record<string, LifetimeTotals>>;
  readonly lots: Readonly<Record<string, readonly Lot[]>>;
  readonly inventory: Readonly<Record<string, readonly string[]>>;
  readonly milestones: Readonly<Record<string, MilestoneProgress>>;
  readonly challenges: Readonly<Record<string, ChallengeProgress>>;
  readonly coupons: readonly UserCoupon[];
  readonly counters: Readonly<Record<string, Counter>>;
  /** Since when (Unix ms) counters have had no definition, by their keys. */
  readonly orphanedCounters: Readonly<Record<string, number>>;
  /** The last action, purchase or reward, in Unix ms, where points expire without activity; 0: not known. */
  readonly activeAt: number;
  /** Up to which expiry (Unix ms) the user was reminded, by metric. */
  readonly reminded: Readonly<Record<string, number>>;
  /** When time may next change something, in Unix ms; null: never. It may be too early, and is never too late. */
  readonly dueAt: number | null;
  /** Settlements in a row, without another event, in which rules gave points that expire or activate. */
  readonly chainedExpiries: number;
  /** Number of history records ever written. */
  readonly records: number;
  /** The parts of the stored history, oldest first, by which it is bounded in bytes. */
  readonly historyParts: readonly HistoryPart[];
  /** Redemptions with steps to do: stock or a code is to be taken or given back. */
  readonly redemptions: readonly Redemption[];
  /** Gifts that are not known to have arrived. */
  readonly gifts: readonly Gift[];
  /** Board scores whose delivery is not confirmed. */
  readonly undelivered: readonly ScoreUpdate[];
  readonly sums: Readonly<Record<string, RunningSum>>;
  /** The newest generation of once marks, and its number of marks. */
  readonly onceMarks: { readonly generation: number; readonly count: number };
  /** The tallies of votes by generation, oldest first, each with the most fields that it may have. */
  readonly votes: readonly (readonly [generation: number, fields: number])[];
  /** Elements among whose voters the user may not be listed. */
  readonly voterOf: readonly string[];
  /** The user that this one was merged into; null: none. */
  readonly mergedInto: string | null;
}

/** What a state has where it has nothing: the same objects for all users, of whom most have few of the members. */
export const noEntries: Readonly<Record<string, never>> = Object.freeze({});
const noItems: readonly never[] = Object.freeze([]);

export function emptyState(projectId: string | null): UserState {
  return {
    revision: 0,
    changedAt: 0,
    config: "",
    projectId,
    zone: null,
    metrics: noEntries,
    lifetime: noEntries,
    lots: noEntries,
    inventory: noEntries,
    milestones: noEntries,
    challenges: noEntries,
    coupons: noItems,
    counters: noEntries,
    orphanedCounters: noEntries,
    activeAt: 0,
    reminded: noEntries,
    dueAt: null,
    chainedExpiries: 0,
    records: 0,
    historyParts: noItems,
    redemptions: noItems,
    gifts: noItems,
    undelivered: noItems,
    sums: noEntries,
    onceMarks: { generation: 0, count: 0 },
    votes: noItems,
    voterOf: noItems,
    mergedInto: null,
  };
}

/** Returns the time zone of a user's days at a time (Unix ms). */
export function timeZoneOf({ zoneField, config }: CompiledConfig, { zone }: UserState, at: number): string {
  return zoneField === null ? config.timeZone : zoneAt(zone, at, config.timeZone);
}

/** Returns what was ever earned of a metric and became usable, without what was taken back. */
export function usableEarnings(
  { lifetime, lots }: Pick<UserState, "lifetime" | "lots">,
  metricId: string,
): number {
  const [earned] = ownValue(lifetime, metricId) ?? [0];
  const pending = (ownValue(lots, metricId) ?? []).filter(({ activatesAt }) => activatesAt > 0);
  return pending.reduce((usable, { remaining }) => usable - remaining, earned);
}

/** Returns the first instant until `at` at which time alone may change a state; null: there is none. Both in Unix ms. */
export function dueInstant(
  { dueAt, changedAt }: Pick<UserState, "dueAt" | "changedAt">,
  at: number,
): number | null {
  return dueAt === null || dueAt > Math.max(at, changedAt) ? null : Math.max(dueAt, changedAt);
}

/** Most that a state may have changed after now, in ms: as far as clocks of processes may be ahead of the store's. */
const aheadMsMax = 300_000;

/** Tests if a time is farther in the future than any clock that was right when it was written. Both in Unix ms. */
function isAhead(at: number, now: number): boolean {
  return at > now + aheadMsMax;
}

/**
 * Returns the state as changed now where it claims to have changed far in the future: a process with a wrong clock wrote it, and
 * what happens to the user must not be dated by that clock until its time has come.
 */
export function withoutFutureTime(state: UserState, now: number): UserState {
  return isAhead(state.changedAt, now) ? { ...state, changedAt: now } : state;
}

/** The error of a command about a user who was merged; `onAccount` runs it for the account. */
export class MergedUserError extends AppError {
  readonly account: string;

  constructor(account: string) {
    super("forbidden", `Cannot change a user who was merged: use the user ${account} instead`);
    this.account = account;
  }
}

/**
 * Refuses commands about a user who was merged: nothing would bring their effects to the account.
 *
 * @throws {MergedUserError}
 */
export function requireUnmerged({ mergedInto }: UserState): void {
  if (mergedInto !== null) throw new MergedUserError(mergedInto);
}

/**
 * Runs commands about a user, and those of back ends about a user who was merged for the account instead. A token of the merged user
 * opens no account.
 */
export async function onAccount<T>(
  user: SpaceUser,
  work: (user: SpaceUser) => Promise<T>,
  { isBackEnd = user.projectId === null }: { readonly isBackEnd?: boolean } = {},
): Promise<T> {
  try {
    return await work(user);
  } catch (error) {
    if (!(error instanceof MergedUserError) || !isBackEnd) throw error;
    // The account may be merged in its turn.
    return await onAccount({ ...user, userId: error.account }, work, { isBackEnd });
  }
}

export type MutableState = { -readonly [K in keyof UserState]: UserState[K] };

/** Copies a state, whose records stay shared. Member by member, as a spread of so many costs ten times as much. */
export function copyState(state: UserState): MutableState {
  return {
    revision: state.revision,
    changedAt: state.changedAt,
    config: state.config,
    projectId: state.projectId,
    zone: state.zone,
    metrics: state.metrics,
    lifetime: state.lifetime,
    lots: state.lots,
    inventory: state.inventory,
    milestones: state.milestones,
    challenges: state.challenges,
    coupons: state.coupons,
    counters: state.counters,
    orphanedCounters: state.orphanedCounters,
    activeAt: state.activeAt,
    reminded: state.reminded,
    dueAt: state.dueAt,
    chainedExpiries: state.chainedExpiries,
    records: state.records,
    historyParts: state.historyParts,
    redemptions: state.redemptions,
    gifts: state.gifts,
    undelivered: state.undelivered,
    sums: state.sums,
    onceMarks: state.onceMarks,
    votes: state.votes,
    voterOf: state.voterOf,
    mergedInto: state.mergedInto,
  };
}

/** The zone of a user, and the one before it. */
interface UserZone {
  readonly name: string;
  /** Unix ms from which it is in force. */
  readonly from: number;
  /** The zone until then. */
  readonly before: string;
}

/** A zone stays for as long as an action may arrive late, so that a late one finds the zone in which it happened. */
const keptMs = 7 * 24 * 60 * 60 * 1_000;

/** Returns the zone of a user at a time (Unix ms). */
function zoneAt(zone: UserZone | null, at: number, documentZone: string): string {
  if (zone === null) return documentZone;
  return at >= zone.from ? zone.name : zone.before;
}

interface ZoneChange {
  /** The value of the profile. One that is no time zone counts as none. */
  readonly wanted: ProfileFields[string] | undefined;
  readonly documentZone: string;
  /** Unix ms. */
  readonly at: number;
  /** True where nothing has happened to the user before. */
  readonly isNew: boolean;
}

export function zoneAfter(
  zone: UserZone | null,
  { wanted, documentZone, at, isNew }: ZoneChange,
): UserZone | null {
  const current = zone?.name ?? documentZone;
  if (wanted === current || (zone !== null && at < zone.from + keptMs)) return zone;
  const name = typeof wanted === "string" && isTimeZone(wanted) ? wanted : documentZone;
  if (name === current) return zone;
  return { name, from: isNew ? 0 : endOfPeriod("day", current, at), before: current };
}

/** A user as loyalty and audience address them: organisation, space, user and project. */
export interface SpaceUser {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  /** The project that the user signed in to; null where a back end acts. */
  readonly projectId: string | null;
}

const noElements: ReadonlySet<string> = new Set();
/** Elements of a user of which a process remembers that the user is listed. */
const listedMax = 32;

/** The ids that identify a user, without a project. */
export type UserKey = Omit<SpaceUser, "projectId">;

/** Returns the partition of a user's loyalty. User ids are unique in an organisation. */
export function spaceUserPartition({
  organisationId,
  userId,
}: Pick<SpaceUser, "organisationId" | "userId">): Partition {
  return tenantPartition({ organisation: organisationId }, "loyalty", userId);
}

/**
 * Facts about a user that a process remembers beside the user's record. Forgetting them repeats work without effect: the user is registered
 * again, or a score delivered again.
 */
export class CachedUser implements UserKey {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  readonly partition: Partition;
  /** Unix ms until which the due queue is certain to contain the user. */
  registeredUntil = 0;
  /** Unix ms until which the user counts as active without another write. */
  activeUntil = 0;
  /** The project in the user's record. A command that was decided for another one is decided again. */
  projectId: string | null = null;
  /** Unix ms until which the user, who has no project, counts as one who did not sign up in any. */
  hasNoProjectUntil = 0;
  /** True once the user's record was seen. */
  hasRecord = false;
  /** The revision whose metrics the index of users has, as far as this process knows. */
  indexedRevision = 0;
  /** Revision of the newest delivered score. */
  #delivered = -1;
  /** Elements among whose voters the user is listed. */
  #listed: ReadonlySet<string> = noElements;

  /** @throws {AppError} `validation_failed`: an id is ill-formed or too long. */
  constructor({ organisationId, spaceId, userId }: UserKey) {
    this.organisationId = organisationId;
    this.spaceId = spaceId;
    this.userId = userId;
    this.partition = spaceUserPartition({ organisationId, userId });
  }

  /** Tests if a sweep is certain to look at the user, and with activity also if the user counts as active. */
  isRegistered(now: number, isActivity: boolean): boolean {
    return this.registeredUntil > now && (!isActivity || this.activeUntil > now);
  }

  /** Forgets a user whose record is gone: who is removed is no longer in the due queue. */
  forget(): void {
    this.registeredUntil = 0;
    this.activeUntil = 0;
    this.projectId = null;
    this.hasNoProjectUntil = 0;
    this.hasRecord = false;
    this.indexedRevision = 0;
    this.#delivered = -1;
    this.#listed = noElements;
  }

  /** Filters out the elements among whose voters the user is listed. */
  unlisted(elementIds: readonly string[]): readonly string[] {
    if (elementIds.length === 0 || this.#listed.size === 0) return elementIds;
    return elementIds.filter(id => !this.#listed.has(id));
  }

  /** Remembers that the user is listed among the voters of an element. The newest are enough: another one is listed twice. */
  markListed(elementId: string): void {
    this.#listed = new Set([...this.#listed, elementId].slice(-listedMax));
  }

  /** Filters out the updates that were delivered. */
  withoutDelivered(updates: readonly ScoreUpdate[]): readonly ScoreUpdate[] {
    return updates.every(({ asOf }) => asOf > this.#delivered)
      ? updates
      : updates.filter(({ asOf }) => asOf > this.#delivered);
  }

  /** Remembers that updates were delivered, and so all earlier ones. */
  markDelivered(updates: readonly ScoreUpdate[]): void {
    for (const { asOf } of updates) if (asOf > this.#delivered) this.#delivered = asOf;
  }
}

/** The users that a process remembers. */
export class UserCache {
  readonly #users: Cache<CachedUser>;

  constructor(entriesMax = 100_000) {
    this.#users = new Cache({ entriesMax });
  }

  /** Returns a user, who is new to the process if need be. */
  get(key: UserKey): CachedUser {
    const { organisationId, spaceId, userId } = key;
    const cached = this.#users.get(userId);
    if (cached?.spaceId === spaceId && cached.organisationId === organisationId) return cached;
    const user = new CachedUser(key);
    this.#users.set(userId, user);
    return user;
  }
}

export const profileKey = "profile";

export type ProfileFields = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Custom fields that a process remembers, so that decisions need not read them. */
export type ProfileFieldsCache = RecordCache<ProfileFields>;

/** Number of users whose custom fields a process keeps. */
const usersMax = 10_000;

/** Creates the cache of a process. It only reads. */
export function createProfileFieldsCache(): ProfileFieldsCache {
  const parse = (text: string): ProfileFields =>
    (new JsonMembers(text).value("customFields") as ProfileFields | undefined) ?? {};
  return new RecordCache({ key: profileKey, parse, entriesMax: usersMax });
}

export function pickFields(fields: ProfileFields, names: ReadonlySet<string>): ProfileFields {
  const picked = [...names].flatMap((name): [string, ProfileFields[string]][] => {
    const value = ownValue(fields, name);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(picked);
}
