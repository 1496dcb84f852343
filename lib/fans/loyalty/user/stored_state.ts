/**
 * The stored forms of states and history records: JSON without empty members, with board scores in a short form, and with
 * plain ledger entries as tuples.
 */

import { AppError } from "../../../base/errors/mod.ts";
import { flattenString, JsonMembers, utf8Length } from "../../../base/text/mod.ts";
import {
  type Append,
  type LogEntry,
  onceMark,
  type Partition,
  type Read,
  type ReadLog,
  type ReadRecord,
  type ReadTally,
  type Store,
  type Stored,
  storageLimits,
  type Write,
} from "../../../storage/mod.ts";
import type { ScoreUpdate } from "../../leaderboards/scores/score_delivery.ts";
import { hasEntries } from "../config/compiled.ts";
import type { LedgerEntry } from "../ledger/movements.ts";
import type { ChangePayload, ItemId } from "./change_payload.ts";
import type { HistoryRecord, Transaction } from "./history.ts";
import { emptyState, type HistoryPart, noEntries, type UserState } from "./state.ts";

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
    coupons: nonEmpty(state.coupons),
    counters: filled(state.counters),
    unnamed: filled(state.orphanedCounters),
    activeAt: state.activeAt === 0 ? undefined : state.activeAt,
    reminded: filled(state.reminded),
    lapses: state.chainedExpiries === 0 ? undefined : state.chainedExpiries,
    records: state.records,
    kept: nonEmpty(state.historyParts),
    redemptions: nonEmpty(state.redemptions),
    gifts: nonEmpty(state.gifts),
    undelivered:
      state.undelivered.length === 0
        ? undefined
        : state.undelivered.map(update => storedUpdate(update, state)),
    sums: filled(state.sums),
    seen: state.onceMarks.generation === 0 && state.onceMarks.count === 0 ? undefined : state.onceMarks,
    votes: nonEmpty(state.votes),
    voterOf: nonEmpty(state.voterOf),
    mergedInto: state.mergedInto ?? undefined,
  };
  return JSON.stringify(stored);
}

function filled(member: object): object | undefined {
  return member !== noEntries && hasEntries(member) ? member : undefined;
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
  implements Pick<UserState, "dueAt" | "changedAt" | "metrics" | "inventory" | "challenges" | "mergedInto">
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

  get mergedInto(): string | null {
    return (this.#members.value("mergedInto") as string | undefined) ?? null;
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

export const reversalGenerationsRead: ReadRecord = { type: "record", key: "reversed" };

const generationMs: number = 28 * 24 * 60 * 60 * 1_000;

export function reversalMarksRead(recordAt: number): ReadTally {
  return { type: "tally", key: keyOf(generationOf(recordAt)) };
}

const readOldest: ReadLog = { type: "log", key: "history", limit: 1 };

/** The reads whose results {@linkcode reversalMarkWrites} takes. */
export const reversalMarkReads: readonly [ReadRecord, ReadLog] = [reversalGenerationsRead, readOldest];

/** Returns the writes that mark a transaction. The store refuses a second mark. Marks older than the history are removed. */
export function reversalMarkWrites(
  { id, recordAt }: { readonly id: string; readonly recordAt: number },
  [stored, history]: readonly [Stored | null, readonly LogEntry[]],
): readonly Write[] {
  const generation = generationOf(recordAt);
  const oldest = generationOf(history[0]?.at ?? recordAt);
  const marked = generationsOf(stored);
  const retained = [...new Set([...marked, generation])].filter(one => one >= oldest);
  const over = marked.filter(one => one < oldest);
  const isSame = over.length === 0 && marked.includes(generation);
  return [
    { type: "add", key: keyOf(generation), field: id, by: 1, max: 1 },
    ...over.map((one): Write => ({ type: "delete", shape: "tally", key: keyOf(one) })),
    ...(isSame
      ? []
      : [{ type: "put", key: reversalGenerationsRead.key, value: JSON.stringify(retained) } as const]),
  ];
}

/** Returns the keys of all marks. `generations` is the result of {@linkcode reversalGenerationsRead}. */
export function reversalMarkKeys(generations: Stored | null): readonly string[] {
  return generationsOf(generations).map(keyOf);
}

/**
 * Returns ids of reversed transactions, with at least those of the entries. Without any reversals it reads nothing.
 *
 * @param generations Result of {@linkcode reversalGenerationsRead}.
 */
export async function readReversedIds(
  store: Store,
  partition: Partition,
  generations: Stored | null,
  entries: readonly LogEntry[],
): Promise<ReadonlySet<string>> {
  const wanted = new Set(entries.map(({ at }) => generationOf(at)));
  const marked = generationsOf(generations).filter(generation => wanted.has(generation));
  if (marked.length === 0) return new Set();
  const tallies = await store.read(
    partition,
    marked.map(generation => ({ type: "tally", key: keyOf(generation) }) as const),
  );
  return new Set(tallies.flatMap(tally => [...tally.keys()]));
}

function generationOf(at: number): number {
  return Math.floor(at / generationMs);
}

function keyOf(generation: number): string {
  return `reversed:${generation}`;
}

function generationsOf(stored: Stored | null): readonly number[] {
  return stored === null ? [] : (JSON.parse(stored.value) as readonly number[]);
}

export const onceGenerationMs: number = 7 * 24 * 60 * 60 * 1_000;
/** The clocks of processes may differ by this without a repeated id counting twice at the turn of a generation. */
const clockSkewMsMax = 60_000;

/** An id under which a command takes effect once. Ids of actions and of grants are independent. */
export interface OnceId {
  readonly of: "action" | "grant";
  readonly id: string;
}

const keyPrefixes = { action: "seen", grant: "granted" } as const;

/** Returns the reads of an id's marks, in each generation that may have one. */
export function onceMarkReads({ of, id }: OnceId, now: number): Read[] {
  return onceGenerationsAt(now).map(generation => onceMark(onceMarkKey(of, generation), id));
}

/** Returns the reads of the marks of actions, in each generation that may have them. */
export function actionMarkReads(ids: readonly string[], now: number): readonly ReadTally[] {
  return onceGenerationsAt(now).map(generation => ({
    type: "tally",
    key: onceMarkKey("action", generation),
    fields: ids,
  }));
}

/**
 * Returns the count of marks after another one.
 *
 * @throws {AppError} `rate_limited`: the generation is full.
 */
export function nextOnceMarks({ onceMarks }: UserState, now: number): UserState["onceMarks"] {
  const generation = onceGenerationOf(now);
  const count = onceMarks.generation === generation ? onceMarks.count : 0;
  if (count >= storageLimits.tallyFieldsMax) {
    const message = `Cannot accept more than ${storageLimits.tallyFieldsMax} actions with an id in a week`;
    throw new AppError("rate_limited", message, {
      retryAfterMs: onceGenerationMs - (now % onceGenerationMs),
    });
  }
  return { generation, count: count + 1 };
}

/** Returns the writes that mark an id. The first mark of a generation removes the generations that are over. */
export function onceMarkWrites({ onceMarks }: UserState, { of, id }: OnceId, now: number): readonly Write[] {
  const generation = onceGenerationOf(now);
  const mark: Write = { type: "add", key: onceMarkKey(of, generation), field: id, by: 1 };
  if (onceMarks.generation === generation) return [mark];
  const over = [onceMarks.generation - 1, onceMarks.generation].filter(one => one < generation - 1);
  const removals = over.flatMap((one): Write[] => [
    { type: "delete", shape: "tally", key: onceMarkKey("action", one) },
    { type: "delete", shape: "tally", key: onceMarkKey("grant", one) },
  ]);
  return [mark, ...removals];
}

export function onceMarkKeys({ onceMarks: { generation } }: Pick<UserState, "onceMarks">): readonly string[] {
  return [generation - 1, generation].flatMap(one => [onceMarkKey("action", one), onceMarkKey("grant", one)]);
}

/** Kept, as a text that is made anew is hashed anew at each look-up. */
const onceMarkKeysKept = { action: new Map<number, string>(), grant: new Map<number, string>() };
const onceMarkKeysMax = 64;

function onceMarkKey(of: OnceId["of"], generation: number): string {
  const kept = onceMarkKeysKept[of];
  const found = kept.get(generation);
  if (found !== undefined) return found;
  const key = `${keyPrefixes[of]}:${generation}`;
  if (kept.size < onceMarkKeysMax) kept.set(generation, key);
  return key;
}

function onceGenerationOf(now: number): number {
  return Math.floor(now / onceGenerationMs);
}

/** Includes the next generation while a process with a faster clock may be in it already. */
function onceGenerationsAt(now: number): readonly number[] {
  const generation = onceGenerationOf(now);
  const next = onceGenerationOf(now + clockSkewMsMax);
  return next === generation ? [generation - 1, generation] : [next, generation - 1, generation];
}
