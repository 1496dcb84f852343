/**
 * Actions on their way from a request to their effect, as they stand in the queue.
 *
 * @module
 */

import { shardOf } from "../../text/mod.ts";

/** Number of topics that actions are spread over, by user: at most as many processes can work on them side by side. */
export const actionShards = 16;

/** Values of an action's data. */
export type ActionData = Readonly<Record<string, string | number | boolean>>;

/** An accepted action. */
export interface QueuedAction {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  readonly action: string;
  readonly data: ActionData;
  /** The action takes effect once under this id. */
  readonly actionId: string;
  /** When it happened, Unix ms. */
  readonly at: number;
  /** What the back end noted beside it; shown with a dead letter, and not kept otherwise. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The shard of a user: all of a user's actions are in one, in the order in which they were accepted. */
export function shardOfUser(userId: string, shards: number): number {
  return shardOf(userId, shards);
}

/** The topic of a shard. Its name tells the number of shards, so that processes which disagree do not mix their order. */
export function topicOf(shard: number, shards: number): string {
  return `actions:${shards}:${shard}`;
}

/** Writes an action down for the queue. */
export function encodeAction(action: QueuedAction): string {
  return JSON.stringify(action);
}

/** Reads what {@linkcode encodeAction} wrote; null for anything else. */
export function decodeAction(body: string): QueuedAction | null {
  try {
    const value: unknown = JSON.parse(body);
    return isQueuedAction(value) ? value : null;
  } catch {
    return null;
  }
}

function isQueuedAction(value: unknown): value is QueuedAction {
  if (typeof value !== "object" || value === null) return false;
  const { organisationId, spaceId, userId, action, data, actionId, at } = value as Partial<QueuedAction>;
  return (
    [organisationId, spaceId, userId, action, actionId].every(text => typeof text === "string") &&
    typeof data === "object" &&
    data !== null &&
    typeof at === "number"
  );
}
