/**
 * How much of a user's history each webhook has been told.
 *
 * The history is the queue: a webhook has a cursor in it, kept in a record of the user's partition, so that nothing needs to
 * be stored twice. A webhook begins with the first change that is decided while it is configured.
 *
 * @module
 */

import { RecordCache } from "../../storage/mod.ts";
import type { WebhookDefinition } from "../config/document.ts";

/** How far one webhook is. */
export interface WebhookProgress {
  /** Unix ms; nothing before it is sent. */
  readonly from: number;
  /** Id of the last history entry that was dealt with; null: none yet. */
  readonly cursor: string | null;
  /** Number of history records, as the state counts them, that are dealt with. */
  readonly records: number;
  /** How it went with the entry after the cursor. @default it was not tried yet */
  readonly failure?: EntryFailure;
}

/** A history entry that a webhook has not taken. */
export interface EntryFailure {
  /** How often it was tried; 0: the service was left alone. */
  readonly attempts: number;
  /** Unix ms; before that nobody tries it. */
  readonly retryAt: number;
  readonly reason: string | null;
}

/** By the webhook's id. */
export type ProgressByWebhook = Readonly<Record<string, WebhookProgress>>;

/** Number of users whose progress a process remembers. */
export const progressesMax = 10_000;

/** What a process remembers of the progress of users' webhooks: decisions about users need not read it. */
export type ProgressCache = RecordCache<ProgressByWebhook>;

/** Creates the memory of a process. */
export function createProgressCache(): ProgressCache {
  return new RecordCache({ key: "webhooks", entriesMax: progressesMax });
}

/** Where a decision stands. */
export interface ProgressStart {
  /** Unix ms. */
  readonly now: number;
  /** Number of history records before the decision. */
  readonly records: number;
}

/**
 * The progress that a decision has to keep so that webhooks new to the user begin with it, and those that are configured no more
 * are forgotten; null where all are known already.
 */
export function beginProgress(
  webhooks: readonly WebhookDefinition[],
  stored: ProgressByWebhook,
  { now, records }: ProgressStart,
): ProgressByWebhook | null {
  const ids = webhooks.map(({ id }) => id);
  const isKnown =
    ids.every(id => Object.hasOwn(stored, id)) && Object.keys(stored).every(id => ids.includes(id));
  if (isKnown) return null;
  const fresh: WebhookProgress = { from: now, cursor: null, records };
  return Object.fromEntries(ids.map(id => [id, progressOf(stored, id) ?? fresh]));
}

/** The progress of one webhook, if it has any. */
export function progressOf(all: ProgressByWebhook, id: string): WebhookProgress | undefined {
  return Object.hasOwn(all, id) ? all[id] : undefined;
}
