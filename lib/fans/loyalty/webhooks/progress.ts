import { RecordCache } from "../../../storage/mod.ts";
import { ownValue } from "../config/compiled.ts";
import type { WebhookDefinition } from "../config/document.ts";
import type { UserState } from "../user/state.ts";

export interface WebhookProgress {
  /** Unix ms; nothing earlier is sent. */
  readonly from: number;
  /** Id of the last history entry that was processed; null: none yet. */
  readonly cursor: string | null;
  /** Number of history records, as the state counts them, that are processed. */
  readonly records: number;
  /** Failure of the entry after the cursor. @default it was not tried yet */
  readonly failure?: EntryFailure;
}

export interface EntryFailure {
  /** Number of attempts; 0: the service was left alone. */
  readonly attempts: number;
  /** Unix ms before which it is not tried again. */
  readonly retryAt: number;
  readonly reason: string | null;
}

export type ProgressByWebhook = Readonly<Record<string, WebhookProgress>>;

const usersMax = 10_000;

/** Records of progress that a process keeps, so that decisions need not read them. */
export type ProgressCache = RecordCache<ProgressByWebhook>;

export function createProgressCache(): ProgressCache {
  return new RecordCache({ key: "webhooks", entriesMax: usersMax });
}

/**
 * Returns the progress to store so that webhooks new to the user begin, and removed ones are forgotten; null where nothing
 * changes.
 *
 * @param before The user's state before the decision. Records of the decision may be dated as early as its last change.
 */
export function beginProgress(
  webhooks: readonly WebhookDefinition[],
  stored: ProgressByWebhook,
  { changedAt, records }: Pick<UserState, "changedAt" | "records">,
): ProgressByWebhook | null {
  const ids = webhooks.map(({ id }) => id);
  const isKnown =
    ids.every(id => Object.hasOwn(stored, id)) && Object.keys(stored).every(id => ids.includes(id));
  if (isKnown) return null;
  const fresh: WebhookProgress = { from: changedAt, cursor: null, records };
  return Object.fromEntries(ids.map(id => [id, ownValue(stored, id) ?? fresh]));
}
