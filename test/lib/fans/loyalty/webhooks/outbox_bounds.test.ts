/** Bounds of one round of the outbox; the next rounds do the rest. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import type { Announcement } from "../../../../../lib/base/outbound/outbound.ts";
import {
  createDeliveryStore,
  deadLettersPageMax,
} from "../../../../../lib/fans/loyalty/webhooks/deliveries.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { answered, configOf, placeOf, type Telling, tellingOf } from "./_receiver.ts";

const outboxRoundMax = 100;
const outboxWorkedMsMax = 60_000;
const webhookRetryMsMin = 5_000;

const place = placeOf("w");

function exported(at: number, spaceId: string = place.spaceId): Announcement {
  return {
    organisationId: "o",
    spaceId,
    id: "export:1",
    area: "audience",
    event: "exportCompleted",
    at,
    data: {},
  };
}

async function worked({ webhooks }: Telling): Promise<void> {
  await webhooks.work();
  await webhooks.idle();
}

describe("a round of the outbox", () => {
  it(`serves ${outboxRoundMax} webhooks, and the next round the others`, async () => {
    const clock = createTestClock();
    await using store = createMemoryStore({ clock: clock.now });
    const telling = tellingOf(store, clock.now, configOf("w"));
    telling.says = () => answered();
    for (let n = 0; n <= outboxRoundMax; n++) {
      await telling.webhooks.announce(exported(clock.now(), `s${n}`));
    }
    await telling.webhooks.idle();
    assert.equal(telling.asked, outboxRoundMax + 1);
    clock.advance(2 * webhookRetryMsMin);
    telling.says = () => undefined;
    await worked(telling);
    assert.equal(telling.taken.length, outboxRoundMax);
    await worked(telling);
    assert.equal(telling.taken.length, outboxRoundMax + 1);
  });

  for (const [tookMs, sent] of [
    [outboxWorkedMsMax - 1, deadLettersPageMax + 1],
    [outboxWorkedMsMax, deadLettersPageMax],
  ] as const) {
    it(`sends ${sent} of ${deadLettersPageMax + 1} messages where the first took ${tookMs} ms`, async () => {
      const clock = createTestClock();
      await using store = createMemoryStore({ clock: clock.now });
      const telling = tellingOf(store, clock.now, configOf("w"));
      const deliveryStore = createDeliveryStore({ store, clock: clock.now });
      for (let n = 0; n < deadLettersPageMax; n++) {
        await deliveryStore.queue(place, { id: `l${n}`, type: "t", at: clock.now(), data: {} });
      }
      telling.says = () => {
        if (telling.asked === 1) clock.advance(tookMs);
        return undefined;
      };
      await telling.webhooks.announce(exported(clock.now()));
      await telling.webhooks.idle();
      assert.equal(telling.taken.length, sent);
      await worked(telling);
      assert.equal(telling.taken.length, deadLettersPageMax + 1);
    });
  }
});
