/** Reading users without changing anything: each read is one round trip to the user's partition. */

import * as v from "valibot";
import { type Immutable, named } from "../../../http/mod.ts";
import type {
  LogEntry,
  Partition,
  ReadLog,
  ReadRecord,
  Store,
  Stored,
  Version,
} from "../../../storage/mod.ts";
import { type CompiledChallenge, type CompiledConfig, metricValues, ownValue } from "../config/compiled.ts";
import type { Challenge, Metric, Mission } from "../config/document.ts";
import { advanceTime } from "../engine/advance_time.ts";
import type { LedgerEntry } from "../ledger/movements.ts";
import { type Balances, balancesOf, balancesValidUntil } from "../ledger/settle_lots.ts";
import type { LoyaltyServices } from "../services.ts";
import { entryId, type HistoryEntry, type HistoryTransaction, transactionsOf } from "../user/history.ts";
import { countUnread, inboxPolicy, inboxReads, inboxValidUntil, parseReadMarks } from "../user/inbox.ts";
import { parseEntry, ReadSize } from "../user/read_history.ts";
import {
  type ChallengeProgress,
  dueInstant,
  emptyState,
  type SpaceUser,
  spaceUserPartition,
  type UserState,
  usableEarnings,
} from "../user/state.ts";
import {
  actionMarkReads,
  parseState,
  readReversedIds,
  readState,
  reversalGenerationsRead,
  StoredStateReader,
} from "../user/stored_state.ts";

interface ReadView<T> {
  readonly view: T;
  /** True where anything is on record of the user's loyalty. */
  readonly isKnown: boolean;
  /** The further record of the user's partition that was asked for. */
  readonly extraRecord: Stored | null;
}

/** Reads users. */
export type LoyaltyReader = ReturnType<typeof createLoyaltyReader>;

export function createLoyaltyReader({ store, clock, configOf, states }: LoyaltyServices) {
  /**
   * By the state object that they are made from. Every commit that adds a notification also changes the state, so a summary stands for
   * the notifications too if they were read after the state was known. No {@linkcode Cache}, because entries last as long as their
   * states.
   */
  const summaries = new WeakMap<UserState, CachedSummary>();
  const [readMarks, readEntries] = inboxReads;
  function stateIn(user: SpaceUser, stored: Stored | null): UserState {
    return stored === null ? emptyState(user.projectId) : states.valueOf(spaceUserPartition(user), stored);
  }
  return {
    /** Returns a user's summary: the same object for as long as it stays true and the process remembers it. */
    async summary(
      user: SpaceUser,
      ...extraReads: readonly ReadRecord[]
    ): Promise<
      Omit<ReadView<LoyaltySummary>, "extraRecord"> & { readonly extraRecords: readonly (Stored | null)[] }
    > {
      const partition = spaceUserPartition(user);
      const cachedState = states.peek(partition);
      // Records alone are far cheaper to read than records and a log at one instant, and a count may be of another one.
      const [config, [stored, marks, ...extraRecords], early] = await Promise.all([
        configOf(user.spaceId),
        store.read(partition, [states.query, readMarks, ...extraReads]),
        cachedState !== undefined && isCurrent(summaries.get(cachedState), clock())
          ? null
          : store.read(partition, [readEntries]),
      ]);
      const found = stateIn(user, stored);
      const now = clock();
      const marksVersion = marks?.version ?? null;
      const rest = { isKnown: stored !== null, extraRecords };
      const cached = summaries.get(found);
      if (cached?.config === config && cached.marksVersion === marksVersion && isCurrent(cached, now)) {
        return { view: cached.summary, ...rest };
      }
      const [entries] = await (early ?? store.read(partition, [readEntries]));
      const policy = inboxPolicy(config);
      const { state } = advanceTime(config, found, now);
      const unreadNotifications = countUnread(entries, { marks: parseReadMarks(marks), policy, now });
      const summary = { ...summarize(config, state, now), unreadNotifications };
      // Entries that were read after a state was known are not older than that state.
      if (found === cachedState && state === found) {
        const until = Math.min(summaryValidUntil(state, now), inboxValidUntil(entries, { policy, now }));
        summaries.set(found, { config, marksVersion, from: now, until, summary });
      }
      return { view: summary, ...rest };
    },
    /** Returns the challenges that a user has begun or may begin. */
    async challenges(user: SpaceUser, extraRead: ReadRecord): Promise<ReadView<readonly ChallengeView[]>> {
      const [config, [stored, extraRecord]] = await Promise.all([
        configOf(user.spaceId),
        store.read(spaceUserPartition(user), [states.query, extraRead]),
      ]);
      const now = clock();
      const { state } = advanceTime(config, stateIn(user, stored), now);
      return { view: challengeViews(config, state, now), isKnown: stored !== null, extraRecord };
    },
    /** Tells for each id whether an action has taken effect under it, for 7 to 14 days. */
    async areActionsApplied(user: SpaceUser, actionIds: readonly string[]): Promise<readonly boolean[]> {
      const reads = actionMarkReads(actionIds, clock());
      const marks = await store.read(spaceUserPartition(user), reads);
      return actionIds.map(id => marks.some(mark => mark.has(id)));
    },
    /** Returns a page of a user's ledger, newest entry first. */
    ledger: (user: SpaceUser, query: LedgerQuery): Promise<LedgerPage> =>
      readLedger(store, spaceUserPartition(user), query),
  };
}

interface LifetimeBalances extends Balances {
  /** All that was credited, pending points included, without what was taken back; at least 0. */
  readonly lifetimeEarned: number;
  /** All that left otherwise than by expiring, without what was given back. */
  readonly lifetimeSpent: number;
}

export interface LoyaltySummary {
  readonly metrics: Readonly<Record<string, number>>;
  /** Balances of each metric now and over all time. */
  readonly balances: Readonly<Record<string, LifetimeBalances>>;
  readonly inventory: Readonly<Record<string, readonly string[]>>;
  /** The milestone reached on the ladder that defines tiers; null: there is no such ladder, or none is reached. */
  readonly tier: {
    readonly id: string;
    readonly name: string;
    /** Progress to the next milestone, by the metric of the ladder; null on the highest one. */
    readonly progress: ProgressView | null;
  } | null;
  readonly activeChallenges: readonly ChallengeView[];
  readonly unreadNotifications: number;
}

/** Summarises a state that is advanced to `at` (Unix ms). */
function summarize(
  compiled: CompiledConfig,
  state: UserState,
  at: number,
): Omit<LoyaltySummary, "unreadNotifications"> {
  const { config } = compiled;
  return {
    metrics: metricValues(compiled, state.metrics),
    balances: Object.fromEntries(
      config.metrics.map(metric => [metric.id, lifetimeBalances(metric, state, at)]),
    ),
    inventory: inventoryItems(compiled, state),
    tier: tierOf(compiled, state),
    activeChallenges: activeChallenges(compiled, state),
  };
}

/** Returns until when (Unix ms, exclusive) the summary of a state that is advanced to `at` stays the same. */
function summaryValidUntil({ dueAt, lots }: UserState, at: number): number {
  let until = dueAt ?? Number.POSITIVE_INFINITY;
  for (const id of Object.keys(lots)) until = Math.min(until, balancesValidUntil(lots[id] ?? [], at));
  return until;
}

function balanceOf({ id, defaultValue }: Metric, state: UserState): number {
  return ownValue(state.metrics, id) ?? defaultValue;
}

function inventoryItems(
  { config }: CompiledConfig,
  state: UserState,
): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(config.inventory.map(({ id }) => [id, ownValue(state.inventory, id) ?? []]));
}

function lifetimeBalances(metric: Metric, state: UserState, at: number): LifetimeBalances {
  const [lifetimeEarned, lifetimeSpent] = ownValue(state.lifetime, metric.id) ?? [0, 0];
  const lots = ownValue(state.lots, metric.id) ?? (metric.lots === undefined ? null : []);
  const account = { balance: balanceOf(metric, state), lots };
  const { available, pending, expiringSoon } = balancesOf(account, at);
  return {
    available,
    pending,
    expiringSoon,
    lifetimeEarned: Math.max(0, lifetimeEarned),
    lifetimeSpent,
  };
}

function tierOf({ config, metrics }: CompiledConfig, state: UserState): LoyaltySummary["tier"] {
  const ladder = config.milestones.find(({ isTier }) => isTier);
  const reached = ladder === undefined ? undefined : ownValue(state.milestones, ladder.id);
  const metric = ladder === undefined ? undefined : metrics.get(ladder.metricId);
  if (ladder === undefined || reached === undefined || metric === undefined) return null;
  const milestone = ladder.milestones.find(({ id }) => id === reached.milestoneId);
  if (milestone === undefined) return null;
  const next = ladder.milestones.find(({ threshold }) => threshold > reached.threshold);
  const { id, title: name } = milestone;
  if (next === undefined) return { id, name, progress: null };
  const value = ladder.measure === "earned" ? usableEarnings(state, metric.id) : balanceOf(metric, state);
  const current = Math.min(value, next.threshold);
  const share = (current - reached.threshold) / (next.threshold - reached.threshold);
  const percent = Math.min(99, Math.max(0, Math.floor(100 * share)));
  return { id, name, progress: { current, target: next.threshold, percent } };
}

/** A summary with what it depends on beside the state. */
interface CachedSummary {
  readonly config: CompiledConfig;
  /** The version of the record that marks notifications as read; null: there is none. */
  readonly marksVersion: Version | null;
  /** Unix ms. */
  readonly from: number;
  /** Unix ms, exclusive. */
  readonly until: number;
  readonly summary: LoyaltySummary;
}

function isCurrent(cached: CachedSummary | undefined, now: number): boolean {
  return cached !== undefined && cached.from <= now && now < cached.until;
}

const texts = v.array(v.string());

export const RewardsProfileSchema = named(
  "RewardsProfile",
  v.object({
    metrics: v.record(v.string(), v.number()),
    inventory: v.record(v.string(), texts),
    challenges: v.record(v.string(), v.object({ isCompleted: v.boolean(), missionsCompleted: texts })),
  }),
);
/** The rewards profile as the loyalty API shows it. */
export type RewardsProfile = Immutable<v.InferOutput<typeof RewardsProfileSchema>>;

const shown = new WeakMap<UserState, { readonly config: CompiledConfig; readonly profile: RewardsProfile }>();

/** Makes the profile of a state: every metric, set and challenge of the configuration, and nothing else. */
export function rewardsProfile(compiled: CompiledConfig, state: UserState): RewardsProfile {
  const cached = shown.get(state);
  if (cached?.config === compiled) return cached.profile;
  const challenges = compiled.config.challenges.map(({ id }) => {
    const { status, missionsCompleted = [] } = ownValue(state.challenges, id) ?? {};
    return [id, { isCompleted: status === "completed", missionsCompleted }] as const;
  });
  const profile = {
    metrics: metricValues(compiled, state.metrics),
    inventory: inventoryItems(compiled, state),
    challenges: Object.fromEntries(challenges),
  };
  shown.set(state, { config: compiled, profile });
  return profile;
}

type ChallengeStatus = "not_started" | "in_progress" | "completed" | "failed";

/** Progress; `percent` is a whole number from 0 to 100. */
interface ProgressView {
  readonly current: number;
  readonly target: number;
  readonly percent: number;
}

/** A challenge as a user sees it; times in Unix ms. */
export interface ChallengeView {
  readonly challenge: Challenge;
  readonly status: ChallengeStatus;
  /** Missions completed, of all; the percentage includes progress within missions. */
  readonly progress: ProgressView;
  readonly missions: readonly {
    readonly mission: Mission;
    readonly status: "not_started" | "in_progress" | "completed";
    readonly progress: ProgressView;
  }[];
  /** Earliest start; null: none. */
  readonly startsAt: number | null;
  /** Deadline of the run, or of beginning one, exclusive; null: none. */
  readonly endsAt: number | null;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  readonly failedAt: number | null;
  /** The calendar period that the run belongs to; null where the challenge has none, or no run. */
  readonly period: string | null;
}

/** Lists the challenges that a user has begun or may begin at `at` (Unix ms), for a state that is advanced to it. */
function challengeViews(compiled: CompiledConfig, state: UserState, at: number): readonly ChallengeView[] {
  return [...compiled.challenges.values()].flatMap(of => {
    const progress = ownValue(state.challenges, of.challenge.id);
    const hasRun = progress !== undefined && progress.status !== "none";
    return hasRun || at < of.to ? [challengeView(compiled, state, of, progress)] : [];
  });
}

function activeChallenges(compiled: CompiledConfig, state: UserState): readonly ChallengeView[] {
  return Object.entries(state.challenges).flatMap(([id, progress]) => {
    const of = progress.status === "in_progress" ? compiled.challenges.get(id) : undefined;
    return of?.challenge.showInProfile === true ? [challengeView(compiled, state, of, progress)] : [];
  });
}

function challengeView(
  compiled: CompiledConfig,
  state: UserState,
  { challenge, from, to }: CompiledChallenge,
  progress: ChallengeProgress | undefined,
): ChallengeView {
  const run = progress?.status === "none" ? undefined : progress;
  const status = run === undefined || run.status === "none" ? "not_started" : run.status;
  const missions = challenge.missions.map(mission => missionView(compiled, state, mission, run));
  const completed = missions.filter(mission => mission.status === "completed").length;
  const parts = missions.reduce((sum, mission) => sum + mission.progress.percent, 0);
  const isDone = status === "completed";
  const [current, percent] = isDone
    ? [missions.length, 100]
    : [completed, Math.floor(parts / missions.length)];
  return {
    challenge,
    status,
    progress: { current, target: missions.length, percent },
    missions,
    startsAt: challenge.time.from === 0 ? null : from,
    endsAt: status === "in_progress" ? (run?.endsAt ?? null) : Number.isFinite(to) ? to : null,
    startedAt: run?.startedAt ?? null,
    completedAt: isDone ? (run?.endedAt ?? null) : null,
    failedAt: status === "failed" ? (run?.endedAt ?? null) : null,
    period: challenge.period === undefined ? null : (run?.run ?? null),
  };
}

function missionView(
  compiled: CompiledConfig,
  state: UserState,
  mission: Mission,
  run: ChallengeProgress | undefined,
): ChallengeView["missions"][number] {
  const { rule } = mission;
  const target = "metric" in rule ? rule.atLeast : rule.count;
  const reached =
    "metric" in rule
      ? (ownValue(state.metrics, rule.metric) ?? compiled.metrics.get(rule.metric)?.defaultValue ?? 0)
      : (ownValue(run?.counts ?? {}, mission.id) ?? 0);
  const isCompleted = run?.missionsCompleted.includes(mission.id) ?? false;
  const current = isCompleted ? target : Math.min(Math.max(reached, 0), Math.max(target, 0));
  const percent = isCompleted ? 100 : target > 0 ? Math.min(99, Math.floor((100 * current) / target)) : 0;
  const status = isCompleted ? "completed" : run !== undefined && current > 0 ? "in_progress" : "not_started";
  return { mission, status, progress: { current, target, percent } };
}

const recordsMax = 1_000;

/** The end of a page: after some entries of a record, newest first, or after all of them. */
export interface LedgerCursor {
  readonly recordId: string;
  /** 0: the whole record. */
  readonly taken: number;
}

interface LedgerQuery {
  /** Most entries of the page, 1 or more. */
  readonly limit: number;
  readonly type?: LedgerEntry["type"] | undefined;
  readonly metricId?: string | undefined;
  readonly after?: LedgerCursor | undefined;
}

export interface LedgerEntryView {
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  readonly entry: LedgerEntry;
  readonly transaction: HistoryTransaction;
  readonly record: HistoryEntry;
  /** True where its transaction was reversed. */
  readonly isReversed: boolean;
}

/** A part of the ledger, newest entry first. */
interface LedgerPage {
  readonly items: readonly LedgerEntryView[];
  /** Null: there are no further entries. */
  readonly end: LedgerCursor | null;
}

/** Reads a page of the ledger. Pages follow one another without a gap or a repetition, whatever is added meanwhile. */
export async function readLedger(
  store: Store,
  partition: Partition,
  query: LedgerQuery,
): Promise<LedgerPage> {
  const page = new Page(query);
  let cursor = query.after === undefined ? undefined : cursorOf(query.after);
  const size = new ReadSize();
  for (let records = 0; records < recordsMax; ) {
    const limit = Math.min(records === 0 ? query.limit : size.limit, size.limit, recordsMax - records);
    const read: ReadLog = { type: "log", key: "history", limit, reverse: true };
    const [entries, generations] = await store.read(partition, [
      cursor === undefined ? read : { ...read, cursor },
      reversalGenerationsRead,
    ]);
    const reversed = await readReversedIds(store, partition, generations, entries);
    for (const entry of entries) if (!page.add(entry, reversed)) return { items: page.items, end: page.end };
    if (entries.length < limit) return { items: page.items, end: null };
    size.add(entries);
    cursor = entries.at(-1)?.id;
    records += entries.length;
  }
  return { items: page.items, end: page.end };
}

class Page {
  readonly items: LedgerEntryView[] = [];
  end: LedgerCursor | null = null;
  readonly #query: LedgerQuery;

  constructor(query: LedgerQuery) {
    this.#query = query;
  }

  /** Adds the entries of the next record; false where not all had room. */
  add(stored: LogEntry, reversed: ReadonlySet<string>): boolean {
    const { limit, type, metricId, after } = this.#query;
    const items = itemsOf(parseEntry(stored), reversed);
    const taken = after?.recordId === stored.id ? after.taken : 0;
    for (const [index, item] of items.entries()) {
      const isWanted =
        index >= taken &&
        (type === undefined || item.entry.type === type) &&
        (metricId === undefined || item.entry.metricId === metricId);
      if (isWanted && this.items.length === limit) return false;
      if (isWanted) this.items.push(item);
      this.end = { recordId: stored.id, taken: index + 1 };
    }
    this.end = { recordId: stored.id, taken: 0 };
    return true;
  }
}

/** Lists the entries of a record, newest first. */
function itemsOf(record: HistoryEntry, reversed: ReadonlySet<string>): readonly LedgerEntryView[] {
  const items = transactionsOf(record).flatMap(transaction =>
    transaction.entries.map(
      (entry, n): LedgerEntryView => ({
        id: entryId(transaction.id, n),
        at: entry.at ?? transaction.at,
        entry,
        transaction,
        record,
        isReversed: reversed.has(transaction.id),
      }),
    ),
  );
  return items.reverse();
}

/** Continues after a record, or reads it once more where a part of it is left. Log ids order by milliseconds, then number. */
function cursorOf({ recordId, taken }: LedgerCursor): string {
  if (taken === 0) return recordId;
  const hyphen = recordId.indexOf("-");
  return `${recordId.slice(0, hyphen)}-${Number(recordId.slice(hyphen + 1)) + 1}`;
}

/** A user's loyalty as of now. */
export interface LoyaltyFacts {
  metric(id: string): number;
  items(setId: string): readonly string[];
  challenge(id: string): Exclude<ChallengeProgress["status"], "none"> | "not_started";
  /** True for a user who was merged into another. */
  readonly isMerged: boolean;
}

/** Reads facts about users of a space. */
export interface FactsReader {
  /** The metrics of the space with their default values. */
  readonly metrics: ReadonlyMap<string, number>;
  readonly inventory: ReadonlySet<string>;
  readonly challenges: ReadonlySet<string>;
  /** Reads the facts of a user from the record; null: there is none. */
  read(stored: Stored | null): LoyaltyFacts;
}

/** The source of facts about users of all spaces. */
export type FactsSource = ReturnType<typeof createFactsSource>;

/** Creates the source of facts. */
export function createFactsSource({ clock, configOf }: Pick<LoyaltyServices, "clock" | "configOf">) {
  return {
    /** The record of a user's partition that facts are read from. */
    record: readState,
    async of(spaceId: string): Promise<FactsReader> {
      const compiled = await configOf(spaceId);
      const { metrics, inventory, challenges } = compiled.config;
      const defaults = new Map(metrics.map(({ id, defaultValue }) => [id, defaultValue]));
      return {
        metrics: defaults,
        inventory: new Set(inventory.map(({ id }) => id)),
        challenges: new Set(challenges.map(({ id }) => id)),
        read(stored) {
          if (stored === null) return factsOf(nothing, defaults);
          const state = new StoredStateReader(stored.value);
          const now = clock();
          // Most users have nothing due; then the text is searched for what is asked and not parsed as a whole.
          if (dueInstant(state, now) === null) return factsOf(state, defaults);
          return factsOf(advanceTime(compiled, parseState(stored.value), now).state, defaults);
        },
      };
    },
  };
}

/** Reads a user's metrics that have ever changed, with the revision of the state; null where nothing is on record. */
export async function readMetrics(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
): Promise<Pick<UserState, "metrics" | "revision"> | null> {
  const [stored] = await store.read(spaceUserPartition(user), [readState]);
  return stored === null ? null : parseState(stored.value);
}

const nothing = emptyState(null);

function factsOf(
  state: Pick<UserState, "metrics" | "inventory" | "challenges" | "mergedInto">,
  defaults: ReadonlyMap<string, number>,
): LoyaltyFacts {
  return {
    metric: id => ownValue(state.metrics, id) ?? defaults.get(id) ?? 0,
    items: setId => ownValue(state.inventory, setId) ?? [],
    challenge(id) {
      const status = ownValue(state.challenges, id)?.status ?? "none";
      return status === "none" ? "not_started" : status;
    },
    get isMerged() {
      return state.mergedInto !== null;
    },
  };
}
