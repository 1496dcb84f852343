/**
 * The stored forms of states and history records: JSON without empty members, with board scores in a short form, and with
 * plain ledger entries as tuples.
 *
 * @module
 */

import { flattenString, JsonMembers, utf8Length } from "../../../base/text/mod.ts";
import type { Append, ReadRecord } from "../../../storage/mod.ts";
import type { ScoreUpdate } from "../../leaderboards/mod.ts";
import { hasEntries } from "../config/scope.ts";
import type { LedgerEntry } from "../ledger/mod.ts";
import type { ChangePayload, ItemId } from "./change_payload.ts";
import type { HistoryRecord, Transaction } from "./history.ts";
import { emptyState, type HistoryPart, type UserState } from "./state.ts";

export const readState: ReadRecord = { type: "record", key: "loyalty" };

/** Replaces the id of the user's project in targets. */
const projectMark = "*";

/** Time and revision are left out if they are those of the state, as they mostly are. */
type StoredUpdate =
  | readonly [target: string, score: number]
  | readonly [target: string, score: number, at: number, asOf: number];

/** Members that are stored under a shorter or an older name. */
type RenamedMember = "undelivered" | "orphanedCounters" | "chainedExpiries" | "onceMarks" | "historyParts";

type StoredState = Partial<Omit<UserState, RenamedMember>> & {
  readonly unnamed?: UserState["orphanedCounters"];
  readonly lapses?: UserState["chainedExpiries"];
  readonly seen?: UserState["onceMarks"];
  readonly kept?: UserState["historyParts"];
  /** An update whose target contains the mark is stored whole. */
  readonly undelivered?: readonly (StoredUpdate | ScoreUpdate)[];
};

/** Returns the text of a state. The members that searches read come first, see {@linkcode StoredStateReader}. */
export function printState(state: UserState): string {
  const stored: { readonly [K in keyof Required<StoredState>]: unknown } = {
    revision: state.revision,
    changedAt: state.changedAt,
    // Stored even if it is null, as a reader would scan the whole text for a missing member.
    dueAt: state.dueAt,
    config: state.config === "" ? undefined : state.config,
    projectId: state.projectId ?? undefined,
    zone: state.zone ?? undefined,
    metrics: filled(state.metrics),
    lifetime: filled(state.lifetime),
    lots: filled(state.lots),
    inventory: filled(state.inventory),
    milestones: filled(state.milestones),
    challenges: filled(state.challenges),
    coupons: filled(state.coupons),
    counters: filled(state.counters),
    unnamed: filled(state.orphanedCounters),
    activeAt: state.activeAt === 0 ? undefined : state.activeAt,
    reminded: filled(state.reminded),
    lapses: state.chainedExpiries === 0 ? undefined : state.chainedExpiries,
    records: state.records,
    kept: filled(state.historyParts),
    redemptions: filled(state.redemptions),
    gifts: filled(state.gifts),
    undelivered:
      state.undelivered.length === 0
        ? undefined
        : state.undelivered.map(update => storedUpdate(update, state)),
    sums: filled(state.sums),
    seen: state.onceMarks.generation === 0 && state.onceMarks.count === 0 ? undefined : state.onceMarks,
    votes: filled(state.votes),
    voterOf: filled(state.voterOf),
    mergedInto: state.mergedInto ?? undefined,
  };
  return JSON.stringify(stored);
}

function filled(member: object): object | undefined {
  return hasEntries(member) ? member : undefined;
}

export function parseState(text: string): UserState {
  const { undelivered, unnamed, lapses, seen, kept, ...stored } = JSON.parse(text) as StoredState;
  const empty = emptyState(stored.projectId ?? null);
  const state: UserState = {
    ...empty,
    ...stored,
    orphanedCounters: unnamed ?? empty.orphanedCounters,
    chainedExpiries: lapses ?? empty.chainedExpiries,
    onceMarks: seen ?? empty.onceMarks,
    historyParts: kept ?? empty.historyParts,
  };
  if (undelivered === undefined) return state;
  return { ...state, undelivered: undelivered.map(update => updateOf(update, state)) };
}

/** Reads single members from the text of a state, for searches over many users. */
export class StoredStateReader
  implements Pick<UserState, "dueAt" | "changedAt" | "metrics" | "inventory" | "challenges">
{
  readonly #members: JsonMembers;
  #metrics: UserState["metrics"] | undefined;
  #inventory: UserState["inventory"] | undefined;
  #challenges: UserState["challenges"] | undefined;

  constructor(text: string) {
    this.#members = new JsonMembers(text);
  }

  get dueAt(): number | null {
    const text = this.#members.text("dueAt");
    return text === undefined || text === "null" ? null : Number(text);
  }

  get changedAt(): number {
    return Number(this.#members.text("changedAt") ?? 0);
  }

  get metrics(): UserState["metrics"] {
    this.#metrics ??= this.#member("metrics") as UserState["metrics"];
    return this.#metrics;
  }

  get inventory(): UserState["inventory"] {
    this.#inventory ??= this.#member("inventory") as UserState["inventory"];
    return this.#inventory;
  }

  get challenges(): UserState["challenges"] {
    this.#challenges ??= this.#member("challenges") as UserState["challenges"];
    return this.#challenges;
  }

  #member(name: keyof UserState): object {
    return (this.#members.value(name) as object | undefined) ?? {};
  }
}

function storedUpdate(
  update: ScoreUpdate,
  { projectId, changedAt, revision }: UserState,
): StoredUpdate | ScoreUpdate {
  const { target, score, at, asOf } = update;
  if (target.includes(projectMark)) return update;
  const short = projectId === null ? target : target.replace(projectId, projectMark);
  return at === changedAt && asOf === revision ? [short, score] : [short, score, at, asOf];
}

function updateOf(stored: StoredUpdate | ScoreUpdate, state: UserState): ScoreUpdate {
  if ("target" in stored) return stored;
  const [short, score, at = state.changedAt, asOf = state.revision] = stored;
  // A function, because `$` has a meaning in a replacement text.
  return { target: short.replace(projectMark, () => state.projectId ?? projectMark), score, at, asOf };
}

/** A completed entry without lots. The amount of a debit is negative. */
type StoredEntry = readonly [metricId: string, amount: number, balanceAfter: number];
type Subject = Omit<ChangePayload, "metricChanges" | "inventoryChanges" | "milestoneChanges">;

interface StoredTransaction {
  readonly type: string;
  readonly at?: number;
  readonly about?: Subject;
  readonly metrics?: Readonly<Record<string, readonly [oldValue: number, newValue: number]>>;
  readonly received?: readonly ItemId[];
  readonly lost?: readonly ItemId[];
  readonly milestones?: ChangePayload["milestoneChanges"];
  readonly entries?: readonly (StoredEntry | LedgerEntry)[];
}

type ShortRecord = Omit<HistoryRecord, "transactions"> & {
  readonly transactions?: readonly StoredTransaction[];
};

/** Returns the text of a record. */
export function printRecord(record: HistoryRecord): string {
  const { kind, action, grant, adjustment, redemption, profile, mergedFrom, at, config } = record;
  // Undefined members have no JSON, and members by name are faster than a spread.
  const transactions = nonEmpty(record.transactions.map(shortTransaction));
  const stored: { readonly [K in keyof Required<HistoryRecord>]: unknown } = {
    kind,
    action,
    grant,
    adjustment,
    reversalOf: record.reversalOf,
    reversed: record.reversed,
    redemption,
    profile,
    mergedFrom,
    at,
    config,
    transactions,
  };
  return flattenString(JSON.stringify(stored));
}

export function parseRecord(text: string): HistoryRecord {
  const { transactions = [], ...rest } = JSON.parse(text) as ShortRecord;
  return { ...rest, transactions: transactions.map(transactionOf) };
}

function shortTransaction({ type, at, payload, entries }: Transaction): unknown {
  const { metricChanges, inventoryChanges, milestoneChanges, ...about } = payload;
  return {
    type,
    at,
    about: hasEntries(about) ? about : undefined,
    metrics: hasEntries(metricChanges) ? pairsOf(metricChanges) : undefined,
    received: nonEmpty(inventoryChanges.received),
    lost: nonEmpty(inventoryChanges.lost),
    milestones: hasEntries(milestoneChanges) ? milestoneChanges : undefined,
    entries: nonEmpty(entries.map(shortEntry)),
  } satisfies { readonly [K in keyof StoredTransaction]: StoredTransaction[K] | undefined };
}

function nonEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function transactionOf(short: StoredTransaction): Transaction {
  const { type, at, about, metrics = {}, received = [], lost = [], milestones = {}, entries = [] } = short;
  const metricChanges: Record<string, { oldValue: number; newValue: number }> = {};
  for (const [id, [oldValue, newValue]] of Object.entries(metrics)) {
    metricChanges[id] = { oldValue, newValue };
  }
  const inventoryChanges = { received, lost };
  return {
    type,
    ...(at === undefined ? {} : { at }),
    payload: { ...about, metricChanges, inventoryChanges, milestoneChanges: milestones },
    entries: entries.map(entryOf),
  };
}

function pairsOf(changes: ChangePayload["metricChanges"]): Record<string, readonly [number, number]> {
  const pairs: Record<string, readonly [number, number]> = {};
  for (const id of Object.keys(changes)) {
    const change = changes[id];
    if (change !== undefined) pairs[id] = [change.oldValue, change.newValue];
  }
  return pairs;
}

function shortEntry(entry: LedgerEntry): StoredEntry | LedgerEntry {
  const { metricId, type, amount, balanceAfter, status, at, lot, draws } = entry;
  const isPlain = status === "completed" && at === undefined && lot === undefined && draws === undefined;
  return isPlain ? [metricId, type === "credit" ? amount : -amount, balanceAfter] : entry;
}

function entryOf(short: StoredEntry | LedgerEntry): LedgerEntry {
  if ("metricId" in short) return short;
  const [metricId, amount, balanceAfter] = short;
  const type = amount < 0 ? "debit" : "credit";
  return { metricId, type, amount: Math.abs(amount), balanceAfter, status: "completed" };
}

/** Most records that a user's history keeps; the oldest is dropped first. */
export const historyMax = 10_000;
/**
 * Most bytes that a user's history keeps, as texts of records. A log knows no bytes, so the state counts them by parts of the log,
 * and the oldest part leaves it as a whole.
 */
export const historyBytesMax: number = 8 * 1_024 * 1_024;

/** Most records are, and need no count of their bytes. */
const isAscii = /^[\0-\x7f]*$/;
const partBytesMax = historyBytesMax / 16;
const partRecordsMax = historyMax / 16;

/** Returns the writes that append records, and the parts of the log after them. */
export function appendRecords(
  before: readonly HistoryPart[],
  records: readonly HistoryRecord[],
): { readonly parts: readonly HistoryPart[]; readonly writes: readonly Append[] } {
  let parts = before;
  const writes = records.map((record): Append => {
    const value = printRecord(record);
    parts = boundedParts(parts, isAscii.test(value) ? value.length : (utf8Length(value) ?? value.length));
    const kept = parts.reduce((sum, [count]) => sum + count, 0);
    return { type: "append", key: "history", value, at: record.at, maxLength: Math.min(historyMax, kept) };
  });
  return { parts, writes };
}

/** Adds a record to the newest part, and drops old parts while the others alone fill the log. */
function boundedParts(parts: readonly HistoryPart[], bytes: number): readonly HistoryPart[] {
  const [records, partBytes] = parts.at(-1) ?? [0, 0];
  const isFull = records >= partRecordsMax || (records > 0 && partBytes + bytes > partBytesMax);
  const next: HistoryPart[] = isFull
    ? [...parts, [1, bytes]]
    : [...parts.slice(0, -1), [records + 1, partBytes + bytes]];
  if (!isFull) return next;
  let [allRecords, allBytes] = next.reduce<HistoryPart>(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
  // A part that is begun may grow to its bound before the next one is dropped.
  while (next.length > 1 && allBytes > historyBytesMax - partBytesMax) {
    const [oldRecords, oldBytes] = next.shift() ?? [0, 0];
    allRecords -= oldRecords;
    allBytes -= oldBytes;
  }
  while (next.length > 1 && allRecords - (next[0]?.[0] ?? 0) >= historyMax) {
    allRecords -= next.shift()?.[0] ?? 0;
  }
  return next;
}
