/** What a process remembers of services is bounded, whatever webhooks come and go. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { createWebhookClient, webhookServicesMax } from "../../../../lib/loyalty/webhooks/client.ts";
import { createEndpoints, endpointsKnownMax } from "../../../../lib/loyalty/webhooks/endpoints.ts";
import { createTestClock } from "../../../support/clock.ts";
import { WatchedStore } from "../../../support/watched_store.ts";
import { answered, placeOf } from "./_told.ts";

const url = "https://crm.example.org/";

describe("what a process remembers of services", () => {
  it("is how so many of them do, and the store is asked about others", async () => {
    const clock = createTestClock();
    const store = new WatchedStore(createMemoryStore({ clock: clock.now }));
    const endpoints = createEndpoints({ store, clock: clock.now });
    const look = (n: number) => endpoints.cached(placeOf(`w${n}`), url);
    await look(0);
    await look(0);
    assert.equal(store.reads.length, 1);
    for (let n = 1; n <= endpointsKnownMax; n++) await look(n);
    await look(0);
    assert.equal(store.reads.length, endpointsKnownMax + 2);
  });

  it("is what so many of them asked for", async () => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock: clock.now });
    let asked = 0;
    const attempts = createWebhookClient({
      clock: clock.now,
      keyOf: () => new Uint8Array(24),
      endpoints: createEndpoints({ store, clock: clock.now }),
      onFailed: () => {},
      sender: {
        async send(): Promise<void> {
          asked += 1;
          throw answered(429, 600_000);
        },
      },
    });
    const send = (n: number) =>
      attempts.send({
        address: placeOf(`w${n}`),
        webhook: { id: `w${n}`, url, events: [] },
        delivery: { id: "l", type: "t", at: 0, data: {} },
      });
    await send(0);
    assert.equal((await send(0)).outcome, "postponed");
    assert.equal(asked, 1);
    for (let n = 1; n <= webhookServicesMax; n++) await send(n);
    assert.equal((await send(0)).outcome, "failed");
  });
});
