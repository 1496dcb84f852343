/**
 * Tells webhooks what happened to users: at least once, and in the order in which it happened to a user.
 *
 * @module
 */

import { Breaker, type Clock } from "../../auth/mod.ts";
import type { WebhookSender } from "../../ports/webhook_sender.ts";
import { decide, type LogEntry, type ReadLog, type Store, type Stored } from "../../storage/mod.ts";
import type { LoyaltyConfig, Webhook } from "../config.ts";
import { type PlacedTransaction, transactionsOf } from "../history.ts";
import { type Member, memberPartition } from "../member.ts";
import type { UserState } from "../state.ts";
import { parseRecord } from "../stored_record.ts";
import { parseProgress, progressOf, putProgress, readProgress, type WebhookProgress } from "./progress.ts";

/** How long a service that does not take its events is tried, in ms: 3 days. */
export const webhookTriedMsMax: number = 3 * 24 * 3_600_000;
/** Number of history records that are looked through at a time. */
export const webhookPageMax = 100;
/** Number of users whose events a process sends side by side. */
export const webhookLanes = 16;
/** Most users who wait for that in a process; the sweep finds those beyond. */
export const webhookWaitingMax = 100_000;

/** Finds the bytes that a webhook's messages are signed with. */
export type WebhookKeys = (spaceId: string, webhookId: string) => Uint8Array;

/** What a dispatch needs. */
export interface WebhookDispatchOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly sender: WebhookSender;
  readonly config: (spaceId: string) => LoyaltyConfig | Promise<LoyaltyConfig>;
  readonly keyOf: WebhookKeys;
  /** Told of a message that was not taken; it is sent again later. */
  readonly onFailed: (webhookId: string, error: unknown) => void;
}

/** Sends what webhooks have not been told yet. */
export interface WebhookDispatch {
  /** Sends in the background. */
  enqueue(member: Member): void;
  /** Sends now, and says whether nothing is left to send. */
  deliver(member: Member): Promise<boolean>;
  /** Resolves when nothing is sent any more. */
  idle(): Promise<void>;
}

/** Creates the dispatch of a process. */
export function createWebhookDispatch(options: WebhookDispatchOptions): WebhookDispatch {
  const breakers = new Map<string, Breaker>();
  const waiting = new Map<string, Member>();
  const running = new Set<Promise<void>>();

  function breakerOf(url: string): Breaker {
    const breaker = breakers.get(url) ?? new Breaker(options.clock);
    breakers.set(url, breaker);
    return breaker;
  }

  async function deliver(member: Member): Promise<boolean> {
    const { webhooks } = await options.config(member.spaceId);
    const done = await Promise.all(
      webhooks.map(webhook => deliverAll({ ...options, breaker: breakerOf(webhook.url) }, member, webhook)),
    );
    return done.every(Boolean);
  }

  async function lane(): Promise<void> {
    for (;;) {
      const [next] = waiting;
      if (next === undefined) return;
      waiting.delete(next[0]);
      // What fails here stays in the user's history, where the sweep finds it.
      await deliver(next[1]).catch(error => options.onFailed("", error));
    }
  }

  return {
    deliver,
    enqueue(member) {
      if (waiting.size >= webhookWaitingMax) return;
      waiting.set(memberPartition(member), member);
      if (running.size >= webhookLanes) return;
      const done = Promise.resolve()
        .then(lane)
        .finally(() => running.delete(done));
      running.add(done);
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

type Delivery = WebhookDispatchOptions & { readonly breaker: Breaker };

async function deliverAll(delivery: Delivery, member: Member, webhook: Webhook): Promise<boolean> {
  for (;;) {
    const page = await readPage(delivery.store, member, webhook);
    if (page === null) return true;
    const told = await tell(delivery, { member, webhook, entries: page.entries });
    const isOver = told === page.entries.length && page.entries.length < webhookPageMax;
    const last = page.entries[told - 1];
    await advance(delivery.store, member, {
      id: webhook.id,
      before: page.progress,
      cursor: last?.id ?? page.progress.cursor,
      records: isOver ? page.records : page.progress.records + told,
    });
    if (told < page.entries.length) return false;
    if (isOver) return true;
  }
}

interface Page {
  readonly progress: WebhookProgress;
  readonly entries: readonly LogEntry[];
  /** Number of history records at the instant of reading. */
  readonly records: number;
}

/** What the webhook has not been told, or null where that is nothing. */
async function readPage(store: Store, member: Member, { id }: Webhook): Promise<Page | null> {
  const partition = memberPartition(member);
  const [known] = await store.read(partition, [readProgress]);
  const progress = progressOf(parseProgress(known), id);
  if (progress === undefined) return null;
  const { from, cursor } = progress;
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

function recordsOf(stored: Stored | null): number {
  return stored === null ? 0 : (JSON.parse(stored.value) as UserState).records;
}

interface Telling {
  readonly member: Member;
  readonly webhook: Webhook;
  readonly entries: readonly LogEntry[];
}

/** Sends entry by entry, and says how many of them are dealt with. */
async function tell(delivery: Delivery, { member, webhook, entries }: Telling): Promise<number> {
  for (const [index, { id, value }] of entries.entries()) {
    const record = { ...parseRecord(value), id };
    if (record.at + webhookTriedMsMax < delivery.clock()) continue;
    for (const transaction of transactionsOf(record)) {
      if (!webhook.events.includes(transaction.type)) continue;
      const isTaken = await send(delivery, { member, webhook, transaction });
      if (!isTaken) return index;
    }
  }
  return entries.length;
}

interface Message {
  readonly member: Member;
  readonly webhook: Webhook;
  readonly transaction: PlacedTransaction;
}

async function send(
  { sender, breaker, keyOf, onFailed }: Delivery,
  { member, webhook, transaction }: Message,
): Promise<boolean> {
  const { organisationId, spaceId, userId } = member;
  const { id, at, type, payload } = transaction;
  const timestamp = Math.floor(at / 1_000);
  try {
    await breaker.run(() =>
      sender.send({
        url: webhook.url,
        key: keyOf(spaceId, webhook.id),
        id: `${spaceId}:${webhook.id}:${userId}:${id}`,
        type: `loyalty.${type}`,
        at,
        data: { organisationId, spaceId, userId, transaction: { id, timestamp, type, payload } },
      }),
    );
    return true;
  } catch (error) {
    onFailed(webhook.id, error);
    return false;
  }
}

interface Advance {
  readonly id: string;
  readonly before: WebhookProgress;
  readonly cursor: string | null;
  readonly records: number;
}

/** Moves the cursor on, unless somebody else has moved it meanwhile. */
async function advance(
  store: Store,
  member: Member,
  { id, before, cursor, records }: Advance,
): Promise<void> {
  if (cursor === before.cursor && records === before.records) return;
  await decide(store, memberPartition(member), {
    reads: [readProgress],
    idempotent: true,
    apply([stored]) {
      const all = parseProgress(stored);
      const progress = progressOf(all, id);
      const isMine = progress?.cursor === before.cursor && progress.records === before.records;
      if (progress === undefined || !isMine) return { writes: [], answer: null };
      return { writes: [putProgress({ ...all, [id]: { ...progress, cursor, records } })], answer: null };
    },
  });
}
