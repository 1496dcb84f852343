/** Services and users for the tests of webhooks. */

import assert from "node:assert/strict";
import { WebhookError, type WebhookMessage } from "../../../../../lib/base/outbound/outbound.ts";
import type { LoyaltyConfig } from "../../../../../lib/fans/loyalty/config/document.ts";
import { compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import type { ChangePayload } from "../../../../../lib/fans/loyalty/user/change_payload.ts";
import type { HistoryRecord } from "../../../../../lib/fans/loyalty/user/history.ts";
import {
  emptyState,
  type SpaceUser,
  spaceUserPartition,
} from "../../../../../lib/fans/loyalty/user/state.ts";
import { parseState, printRecord, printState } from "../../../../../lib/fans/loyalty/user/stored_state.ts";
import { beginProgress, createProgressCache } from "../../../../../lib/fans/loyalty/webhooks/progress.ts";
import { createWebhooks, type Webhooks } from "../../../../../lib/fans/loyalty/webhooks/webhooks.ts";
import type { Store, Write } from "../../../../../lib/storage/mod.ts";

export const member: SpaceUser = { organisationId: "o", spaceId: "s", userId: "u", projectId: null };
export const nothing: ChangePayload = {
  metricChanges: {},
  inventoryChanges: { received: [], lost: [] },
  milestoneChanges: {},
};

/** A configuration with webhooks of these ids. */
export function configOf(...ids: string[]): LoyaltyConfig {
  const webhooks = ids.map(id => ({
    id,
    url: `https://${id}.example.org/`,
    events: ["challengeCompleted", "milestoneReached", "exportCompleted"],
  }));
  return compileConfig({ webhooks }).config;
}

/** Returns the address of a webhook of the test space. */
export function placeOf(webhookId: string): {
  organisationId: string;
  spaceId: string;
  webhookId: string;
} {
  return { organisationId: "o", spaceId: "s", webhookId };
}

/** A process that sends messages to services, and the messages that they accept. */
export interface Telling {
  readonly taken: WebhookMessage[];
  readonly failures: string[];
  readonly webhooks: Webhooks;
  /** Number of requests to services. */
  asked: number;
  /** The failure of a service; undefined: it accepts the message. */
  says: (message: WebhookMessage) => Error | undefined;
  config: LoyaltyConfig;
}

export function tellingOf(store: Store, clock: () => number, config: LoyaltyConfig): Telling {
  const taken: WebhookMessage[] = [];
  const failures: string[] = [];
  const made: Telling = {
    taken,
    failures,
    asked: 0,
    says: () => undefined,
    config,
    webhooks: createWebhooks({
      store,
      clock,
      holder: "one",
      config: () => made.config,
      keyOf: (spaceId, id) => [new TextEncoder().encode(`${spaceId}/${id}`)],
      onFailed: id => failures.push(id),
      sender: {
        async send(message) {
          made.asked += 1;
          const refusal = made.says(message);
          if (refusal !== undefined) throw refusal;
          taken.push(message);
        },
      },
    }),
  };
  return made;
}

/** The failure of a service that is down, or that answered with a status. */
export function answered(status?: number, retryAfterMs?: number): WebhookError {
  return new WebhookError(status === undefined ? "down" : `the service answered ${status}`, {
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** Writes what a decision of the engine writes of a history, one commit per record. */
export async function happen(
  store: Store,
  { config, now, types }: { config: LoyaltyConfig; now: number; types: string[] },
): Promise<void> {
  const partition = spaceUserPartition(member);
  const progress = createProgressCache();
  const [stored, state] = await store.read(partition, [progress.query, { type: "record", key: "loyalty" }]);
  const before = state === null ? emptyState(null) : parseState(state.value);
  const records = before.records + 1;
  const transactions = types.map(type => ({ type, payload: nothing, entries: [] }));
  const record: HistoryRecord = { kind: "action", at: now, config: "1", transactions };
  const writes: Write[] = [
    { type: "put", key: "loyalty", value: printState({ ...before, records, changedAt: now }) },
    { type: "append", key: "history", value: printRecord(record), at: now, maxLength: 10_000 },
  ];
  const progressed = stored === null ? {} : progress.valueOf(partition, stored);
  const begun = beginProgress(config.webhooks, progressed, before);
  if (begun !== null) writes.push({ type: "put", key: "webhooks", value: JSON.stringify(begun) });
  assert.ok((await store.commit(partition, { writes })).ok);
}
