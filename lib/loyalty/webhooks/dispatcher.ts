/**
 * Tells webhooks what happened to users: at least once, and in the order in which it happened to a user.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import {
  decide,
  type LogEntry,
  type Partition,
  type ReadLog,
  type Store,
  type Stored,
} from "../../storage/mod.ts";
import type { LoyaltyConfig, WebhookDefinition } from "../config/document.ts";
import { type HistoryTransaction, transactionsOf } from "../user/history.ts";
import { type Member, memberPartition } from "../user/member.ts";
import type { UserState } from "../user/state.ts";
import { parseRecord } from "../user/stored_record.ts";
import type { WebhookClient } from "./client.ts";
import type { WebhookDelivery } from "./delivery.ts";
import type { DeliveryStore } from "./delivery_store.ts";
import { FairUserQueue, queuedUsersMax, webhookConcurrency } from "./fair_user_queue.ts";
import {
  type EntryFailure,
  type ProgressByWebhook,
  type ProgressCache,
  progressOf,
  type WebhookProgress,
} from "./progress.ts";
import { retryDelayMs, webhookTriedMsMax } from "./schedule.ts";

/** Number of history records that are looked through at a time. */
export const webhookPageMax = 100;

/** What a dispatch needs. */
export interface WebhookDispatcherOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly progress: ProgressCache;
  readonly attempts: WebhookClient;
  readonly letters: Pick<DeliveryStore, "moveToDeadLetters">;
  readonly config: (spaceId: string) => LoyaltyConfig | Promise<LoyaltyConfig>;
  /** Told of users who could not be dealt with; the sweep finds them. */
  readonly onFailed: (webhookId: string, error: unknown) => void;
}

/** Sends what webhooks have not been told yet. */
export interface WebhookDispatcher {
  /** Sends in the background. */
  enqueue(member: Member): void;
  /** Sends now, and says when to try what was not taken again, in Unix ms; null: nothing is left. */
  deliver(member: Member): Promise<number | null>;
  /** Sends in the background what this process could not send before, as far as it is due again. */
  retry(): void;
  /** Resolves when nothing is sent any more. */
  idle(): Promise<void>;
}

/** Creates the dispatch of a process. It deals with a user once at a time, so that nothing is told twice for haste. */
export function createWebhookDispatcher(options: WebhookDispatcherOptions): WebhookDispatcher {
  const waiting = new FairUserQueue();
  const retries = new Map<string, { readonly member: Member; readonly at: number }>();
  const turns = new Map<string, Promise<number | null>>();
  const running = new Set<Promise<void>>();

  async function deliverAt(name: string, member: Member): Promise<number | null> {
    const { webhooks } = await options.config(member.spaceId);
    const due = await Promise.all(webhooks.map(webhook => deliverAll(options, member, webhook)));
    const times = due.filter(at => at !== null);
    const at = times.length === 0 ? null : Math.min(...times);
    retries.delete(name);
    // Whoever does not fit in is found by the sweep.
    if (at !== null && retries.size < queuedUsersMax) retries.set(name, { member, at });
    return at;
  }

  async function deliver(member: Member): Promise<number | null> {
    const name = memberPartition(member);
    const before = turns.get(name)?.catch(() => null) ?? Promise.resolve(null);
    const turn = before.then(() => deliverAt(name, member));
    turns.set(name, turn);
    try {
      return await turn;
    } finally {
      if (turns.get(name) === turn) turns.delete(name);
      start();
    }
  }

  async function lane(): Promise<void> {
    for (let next = waiting.take(turns); next !== null; next = waiting.take(turns)) {
      // What fails here stays in the user's history, where the sweep finds it.
      await deliver(next).catch(error => options.onFailed("", error));
      waiting.done(next);
    }
  }

  function start(): void {
    if (waiting.size === 0 || running.size >= webhookConcurrency) return;
    const done = Promise.resolve()
      .then(lane)
      .finally(() => running.delete(done));
    running.add(done);
  }

  function enqueue(member: Member): void {
    waiting.add(member);
    start();
  }

  return {
    deliver,
    enqueue,
    retry() {
      const now = options.clock();
      for (const { member, at } of retries.values()) if (at <= now) enqueue(member);
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

/** Tells one webhook what it has not been told, and says when to go on; null: nothing is left. */
async function deliverAll(
  options: WebhookDispatcherOptions,
  member: Member,
  webhook: WebhookDefinition,
): Promise<number | null> {
  for (;;) {
    const page = await readPage(options, member, webhook);
    if (page === null) return null;
    if ("retryAt" in page) return page.retryAt;
    const { progress, entries } = page;
    const { told, failure } = await sendEntries(options, {
      member,
      webhook,
      entries,
      before: progress.failure,
    });
    const isOver = told === entries.length && entries.length < webhookPageMax;
    const isUntried =
      told === 0 && failure !== null && failure.attempts === (progress.failure?.attempts ?? 0);
    if (isUntried) return failure.retryAt;
    const { failure: _, ...place } = progress;
    await advance(options, member, {
      id: webhook.id,
      before: progress,
      after: {
        ...place,
        cursor: entries[told - 1]?.id ?? progress.cursor,
        records: isOver ? page.records : progress.records + told,
        ...(failure === null ? {} : { failure }),
      },
    });
    if (failure !== null) return failure.retryAt;
    if (isOver) return null;
  }
}

interface Page {
  readonly progress: WebhookProgress;
  readonly entries: readonly LogEntry[];
  /** Number of history records at the instant of reading. */
  readonly records: number;
}

/** What the webhook has not been told, or when to look for it; null where that is nothing. */
async function readPage(
  { store, clock, progress: memory }: WebhookDispatcherOptions,
  member: Member,
  { id }: WebhookDefinition,
): Promise<Page | Pick<EntryFailure, "retryAt"> | null> {
  const partition = memberPartition(member);
  const [known] = await store.read(partition, [memory.query]);
  const progress = progressOf(allOf(memory, partition, known), id);
  if (progress === undefined) return null;
  const { from, cursor, failure } = progress;
  if (failure !== undefined && clock() < failure.retryAt) return failure;
  const history: ReadLog = {
    type: "log",
    key: "history",
    limit: webhookPageMax,
    ...(cursor === null ? { from } : { cursor }),
  };
  const [state, entries] = await store.read(partition, [{ type: "record", key: "loyalty" }, history]);
  const records = recordsOf(state);
  return records <= progress.records ? null : { progress, entries, records };
}

function allOf(memory: ProgressCache, partition: Partition, stored: Stored | null): ProgressByWebhook {
  return stored === null ? {} : memory.valueOf(partition, stored);
}

function recordsOf(stored: Stored | null): number {
  return stored === null ? 0 : (JSON.parse(stored.value) as UserState).records;
}

interface Telling {
  readonly member: Member;
  readonly webhook: WebhookDefinition;
  readonly entries: readonly LogEntry[];
  /** How it went with the first entry before. */
  readonly before: EntryFailure | undefined;
}

interface SentEntries {
  /** How many entries are dealt with. */
  readonly told: number;
  /** How it went with the entry after those; null: that was all. */
  readonly failure: EntryFailure | null;
}

/** Tells entry by entry, up to the first that is not taken. */
async function sendEntries(options: WebhookDispatcherOptions, telling: Telling): Promise<SentEntries> {
  const { member, webhook, entries } = telling;
  for (const [told, { id, value }] of entries.entries()) {
    const before = told === 0 ? telling.before : undefined;
    for (const transaction of transactionsOf({ ...parseRecord(value), id })) {
      if (!webhook.events.includes(transaction.type)) continue;
      const failure = await sendTransaction(options, { member, webhook, transaction, before });
      if (failure !== null) return { told, failure };
    }
  }
  return { told: entries.length, failure: null };
}

interface Message {
  readonly member: Member;
  readonly webhook: WebhookDefinition;
  readonly transaction: HistoryTransaction;
  readonly before: EntryFailure | undefined;
}

/** Tells one thing. What is not to be tried any more becomes a dead letter, and is dealt with so. */
async function sendTransaction(
  options: WebhookDispatcherOptions,
  message: Message,
): Promise<EntryFailure | null> {
  const { attempts, letters, clock } = options;
  const { member, webhook, transaction, before } = message;
  const { organisationId, spaceId } = member;
  const place = { organisationId, spaceId, webhookId: webhook.id };
  const letter = deliveryOf(message);
  const tried = before?.attempts ?? 0;
  const result = await attempts.send({ address: place, webhook, delivery: letter });
  const now = clock();
  if (result.outcome === "taken") return null;
  if (result.outcome === "postponed") {
    return { attempts: tried, retryAt: result.until, reason: before?.reason ?? null };
  }
  const { reason } = result;
  const times = tried + (result.outcome === "failed" || result.isTried ? 1 : 0);
  // What comes late is tried once all the same: it may have waited behind what the service did not take.
  if (result.outcome === "failed" && now <= transaction.at + webhookTriedMsMax) {
    const pause = retryDelayMs({ id: letter.id, attempts: times, retryAfterMs: result.retryAfterMs });
    return { attempts: times, retryAt: now + pause, reason };
  }
  await letters.moveToDeadLetters(place, { ...letter, since: transaction.at, attempts: times, reason });
  return null;
}

function deliveryOf({ member, webhook, transaction }: Message): WebhookDelivery {
  const { organisationId, spaceId, userId } = member;
  const { id, at, type, payload } = transaction;
  const timestamp = Math.floor(at / 1_000);
  return {
    id: `${spaceId}:${webhook.id}:${userId}:${id}`,
    type: `loyalty.${type}`,
    at,
    data: { organisationId, spaceId, userId, transaction: { id, timestamp, type, payload } },
  };
}

interface Advance {
  readonly id: string;
  readonly before: WebhookProgress;
  readonly after: WebhookProgress;
}

/** Moves the cursor on, unless somebody else has moved it meanwhile. */
async function advance(
  { store, progress: memory }: WebhookDispatcherOptions,
  member: Member,
  { id, before, after }: Advance,
): Promise<void> {
  const partition = memberPartition(member);
  await decide(store, partition, {
    reads: [memory.query],
    idempotent: true,
    apply([stored]) {
      const all = allOf(memory, partition, stored);
      const progress = progressOf(all, id);
      const isMine = progress?.cursor === before.cursor && progress.records === before.records;
      if (!isMine) return { writes: [], answer: null };
      return { writes: [memory.put({ ...all, [id]: after })], answer: null };
    },
  });
}
