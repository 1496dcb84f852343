/** Accepted actions as they wait in the queue. */

import { parsedJson } from "../../../base/json/mod.ts";
import { shardOf } from "../../../base/text/mod.ts";
import type { ActionData } from "../../loyalty/config/rules.ts";

/** Topics that actions are spread over by user: at most as many processes can apply actions concurrently. */
export const actionShards = 16;

export interface QueuedAction {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  readonly action: string;
  readonly data: ActionData;
  /** The user's project as the back end names it. */
  readonly projectId?: string | undefined;
  /** The id under which the action takes effect once. */
  readonly actionId: string;
  /** The time of the action, Unix ms. */
  readonly at: number;
  /** Notes of the back end, shown with transactions and dead letters. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Returns the shard of a user, which keeps the user's actions in the order of acceptance. */
export function shardOfUser(userId: string, shards: number): number {
  return shardOf(userId, shards);
}

/** Returns the topic of a shard. Its name has the number of shards: processes that disagree on it must not mix orders. */
export function topicOf(shard: number, shards: number): string {
  return `actions:${shards}:${shard}`;
}

export function encodeAction(action: QueuedAction): string {
  return JSON.stringify(action);
}

/** Decodes a message; null if it is no action. */
export function decodeAction(body: string): QueuedAction | null {
  const value = parsedJson(body);
  return isQueuedAction(value) ? value : null;
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
