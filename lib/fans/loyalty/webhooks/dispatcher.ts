/** The dispatcher: sends webhooks the changes of users, at least once, and for each user in their order. */

import { decide, type LogEntry, type Partition, type ReadLog, type Stored } from "../../../storage/mod.ts";
import { ownValue } from "../config/compiled.ts";
import type { WebhookDefinition } from "../config/document.ts";
import { type HistoryTransaction, transactionsOf, transactionView } from "../user/history.ts";
import { type SpaceUser, spaceUserPartition, type UserState } from "../user/state.ts";
import { parseRecord } from "../user/stored_state.ts";
import type { SendingServices } from "./deliveries.ts";
import type { EntryFailure, ProgressByWebhook, ProgressCache, WebhookProgress } from "./progress.ts";

const pageMax = 100;
/** Number of users whose changes a process sends at the same time. */
const concurrency = 20;

/** Creates the dispatcher of a process. It handles a user once at a time, so that it sends nothing twice. */
export function createWebhookDispatcher(services: SendingServices) {
  const waiting = new FairUserQueue();
  const retries = new Map<string, { readonly user: SpaceUser; readonly at: number }>();
  const underWay = new Map<string, Promise<number | null>>();
  const workers = new Set<Promise<void>>();

  async function deliverToAll(name: string, user: SpaceUser): Promise<number | null> {
    const { webhooks } = await services.config(user.spaceId);
    const due = await Promise.all(webhooks.map(webhook => deliverToOne(services, user, webhook)));
    const times = due.filter(at => at !== null);
    const at = times.length === 0 ? null : Math.min(...times);
    retries.delete(name);
    // The sweep finds those for whom there is no room.
    if (at !== null && retries.size < queuedUsersMax) retries.set(name, { user, at });
    return at;
  }

  /** Sends a user's changes now and returns when to retry what was not taken, in Unix ms; null: nothing is left. */
  async function deliver(user: SpaceUser): Promise<number | null> {
    const name = spaceUserPartition(user);
    const before = underWay.get(name)?.catch(() => null) ?? Promise.resolve(null);
    const delivery = before.then(() => deliverToAll(name, user));
    underWay.set(name, delivery);
    try {
      return await delivery;
    } finally {
      if (underWay.get(name) === delivery) underWay.delete(name);
      startWorker();
    }
  }

  async function work(): Promise<void> {
    for (let next = waiting.take(underWay); next !== null; next = waiting.take(underWay)) {
      // A failed message stays in the user's history, where the sweep finds it.
      await deliver(next).catch(error => services.onFailed("", error));
      waiting.done(next);
    }
  }

  function startWorker(): void {
    if (waiting.size === 0 || workers.size >= concurrency) return;
    const done = Promise.resolve()
      .then(work)
      .finally(() => workers.delete(done));
    workers.add(done);
  }

  function enqueue(user: SpaceUser): void {
    waiting.add(user);
    startWorker();
  }

  return {
    deliver,
    enqueue,
    /** Retries in the background what this process could not send before, as far as it is due. */
    retry(): void {
      const now = services.clock();
      for (const { user, at } of retries.values()) if (at <= now) enqueue(user);
    },
    /** Resolves when nothing is sent any more. */
    async idle(): Promise<void> {
      while (workers.size > 0) await Promise.all(workers);
    },
  };
}

/** Sends a webhook the changes that it has not got and returns when to continue; null: nothing is left. */
async function deliverToOne(
  services: SendingServices,
  user: SpaceUser,
  webhook: WebhookDefinition,
): Promise<number | null> {
  for (;;) {
    const page = await readPage(services, user, webhook);
    if (page === null) return null;
    if ("retryAt" in page) return page.retryAt;
    const { progress, entries } = page;
    const { sent, failure } = await sendEntries(services, { user, webhook, ...page });
    const isOver = sent === entries.length && entries.length < pageMax;
    const isUntried =
      sent === 0 && failure !== null && failure.attempts === (progress.failure?.attempts ?? 0);
    if (isUntried) return failure.retryAt;
    const { failure: _, ...position } = progress;
    const after: WebhookProgress = {
      ...position,
      cursor: entries[sent - 1]?.id ?? progress.cursor,
      records: isOver ? page.records : progress.records + sent,
      ...(failure === null ? {} : { failure }),
    };
    await advanceCursor(services, user, webhook.id, progress, after);
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

/** Reads the changes that the webhook has not got, or when to look for them; null where there are none. */
async function readPage(
  { store, clock, progress: cache }: SendingServices,
  user: SpaceUser,
  { id }: WebhookDefinition,
): Promise<Page | Pick<EntryFailure, "retryAt"> | null> {
  const partition = spaceUserPartition(user);
  const [stored] = await store.read(partition, [cache.query]);
  const progress = ownValue(allProgress(cache, partition, stored), id);
  if (progress === undefined) return null;
  const { from, cursor, failure } = progress;
  if (failure !== undefined && clock() < failure.retryAt) return failure;
  const history: ReadLog = {
    type: "log",
    key: "history",
    limit: pageMax,
    ...(cursor === null ? { from } : { cursor }),
  };
  const [state, entries] = await store.read(partition, [{ type: "record", key: "loyalty" }, history]);
  const records = recordsOf(state);
  if (records <= progress.records) return null;
  const isFirst = cursor === null && entries.length < pageMax;
  // Those of the same millisecond may be older than the webhook: the last ones are those that it is to get.
  return { progress, entries: isFirst ? entries.slice(progress.records - records) : entries, records };
}

function allProgress(cache: ProgressCache, partition: Partition, stored: Stored | null): ProgressByWebhook {
  return stored === null ? {} : cache.valueOf(partition, stored);
}

function recordsOf(stored: Stored | null): number {
  return stored === null ? 0 : (JSON.parse(stored.value) as UserState).records;
}

/** Sends entry by entry, up to the first that fails: returns how many are processed, and the failure of the one after those. */
async function sendEntries(
  services: SendingServices,
  page: Page & Pick<Message, "user" | "webhook">,
): Promise<{ readonly sent: number; readonly failure: EntryFailure | null }> {
  const { user, webhook, entries } = page;
  for (const [sent, { id, value }] of entries.entries()) {
    const before = sent === 0 ? page.progress.failure : undefined;
    for (const transaction of transactionsOf({ ...parseRecord(value), id })) {
      if (!webhook.events.includes(transaction.type)) continue;
      const failure = await sendTransaction(services, { user, webhook, transaction, before });
      if (failure !== null) return { sent, failure };
    }
  }
  return { sent: entries.length, failure: null };
}

interface Message {
  readonly user: SpaceUser;
  readonly webhook: WebhookDefinition;
  readonly transaction: HistoryTransaction;
  readonly before: EntryFailure | undefined;
}

/** Sends a transaction. A message that became a dead letter is processed thereby. */
async function sendTransaction(
  { client }: SendingServices,
  { user, webhook, transaction, before }: Message,
): Promise<EntryFailure | null> {
  const { organisationId, spaceId, userId } = user;
  const { id, at, type } = transaction;
  const attempt = await client.send({
    address: { organisationId, spaceId, webhookId: webhook.id },
    webhook,
    delivery: {
      id: `${spaceId}:${webhook.id}:${userId}:${id}`,
      type: `loyalty.${type}`,
      at,
      data: { organisationId, spaceId, userId, transaction: transactionView(transaction) },
      since: at,
      attempts: before?.attempts ?? 0,
      reason: before?.reason ?? null,
    },
  });
  return typeof attempt === "string" ? null : attempt;
}

/** Advances the cursor unless another process has done so meanwhile. */
async function advanceCursor(
  { store, progress: cache }: SendingServices,
  user: SpaceUser,
  id: string,
  before: WebhookProgress,
  after: WebhookProgress,
): Promise<void> {
  const partition = spaceUserPartition(user);
  await decide(store, partition, {
    reads: [cache.query],
    idempotent: true,
    apply([stored]) {
      const all = allProgress(cache, partition, stored);
      const progress = ownValue(all, id);
      const isUnchanged = progress?.cursor === before.cursor && progress.records === before.records;
      if (!isUnchanged) return { writes: [], answer: null };
      return { writes: [cache.put({ ...all, [id]: after })], answer: null };
    },
  });
}

export const queuedUsersMax = 100_000;
/** Most users of one space that are in process: a slow service of one must not delay the others. */
const perSpaceMax = 16;

/** A queue of users whose changes are to be sent. Spaces take turns; within one the users come in their order. */
export class FairUserQueue {
  readonly #bySpace = new Map<string, Map<string, SpaceUser>>();
  readonly #underWay = new Map<string, number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds a user, once. Beyond {@linkcode queuedUsersMax} users it has no effect. */
  add(user: SpaceUser): void {
    if (this.#size >= queuedUsersMax) return;
    const name = spaceUserPartition(user);
    const users = this.#bySpace.get(user.spaceId) ?? new Map<string, SpaceUser>();
    if (!users.has(name)) this.#size += 1;
    users.set(name, user);
    this.#bySpace.set(user.spaceId, users);
  }

  /** Takes the next user who is not `busy`; null if there is none, or too many of their spaces are in process. */
  take(busy: ReadonlyMap<string, unknown>): SpaceUser | null {
    for (const [spaceId, users] of this.#bySpace) {
      if ((this.#underWay.get(spaceId) ?? 0) >= perSpaceMax) continue;
      for (const [name, user] of users) {
        if (busy.has(name)) continue;
        users.delete(name);
        this.#size -= 1;
        this.#bySpace.delete(spaceId);
        if (users.size > 0) this.#bySpace.set(spaceId, users);
        this.#underWay.set(spaceId, (this.#underWay.get(spaceId) ?? 0) + 1);
        return user;
      }
    }
    return null;
  }

  /** Ends the turn of a user who was taken. */
  done({ spaceId }: SpaceUser): void {
    const left = (this.#underWay.get(spaceId) ?? 0) - 1;
    if (left > 0) this.#underWay.set(spaceId, left);
    else this.#underWay.delete(spaceId);
  }
}
