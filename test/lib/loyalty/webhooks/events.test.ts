import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { webhookEvents } from "../../../../lib/loyalty/mod.ts";
import type { TransactionType } from "../../../../lib/loyalty/user/history.ts";

type Event = (typeof webhookEvents)[number];

// Does not compile where a type of transaction cannot be asked for, or what can be asked for never happens.
const isEvent: Readonly<Record<TransactionType | "exportCompleted" | "exportFailed", true>> &
  Readonly<Record<Event, true>> = Object.fromEntries(webhookEvents.map(name => [name, true])) as Record<
  Event,
  true
>;

describe("the events of webhooks", () => {
  it("are all types of transactions, and what areas announce", () => {
    assert.deepEqual(Object.keys(isEvent), [...webhookEvents]);
    assert.equal(new Set(webhookEvents).size, webhookEvents.length);
  });
});
