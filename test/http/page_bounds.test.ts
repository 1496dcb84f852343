/** Bounds of pages: each is accepted, and one more is refused. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryQueue, createMemoryStore } from "../../adapters/memory/mod.ts";
import { deadLettersPageMax } from "../../lib/fans/loyalty/webhooks/deliveries.ts";
import { createTestClock } from "../support/clock.ts";
import { type Answer, ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { newKey } from "./_operations.ts";

const versionDigitsMax = 9;

const audience = "/v1/api/audience";
const space = `/api/v2/spaces/${ids.space}/loyalty`;
const actionDeadLetters = `${audience}/internal/actions/dead-letters`;
const webhookDeadLetters = `${space}/webhooks/crm/dead-letters`;
const webhooks = [{ id: "crm", url: "https://crm.example/", events: ["challengeCompleted"] }];

/** Asserts that a reply refuses an invalid request. */
function assertRefused({ status, json, text }: Answer): void {
  assert.equal(status, 400, text);
  assert.equal(json.code ?? json.errors[0].code, "validation_failed");
}

describe("a page", () => {
  const clock = createTestClock();
  const queue = createMemoryQueue({ clock: clock.now });
  let world: TestPlatform;
  let key: Readonly<Record<string, string>>;
  let fan: Readonly<Record<string, string>>;
  before(async () => {
    world = await openPlatform(async now => createMemoryStore({ clock: now }), {
      queue,
      seed: { ...seed, loyalty: { [ids.space]: { ...loyalty, webhooks } } },
    });
    const made = await newKey(world);
    const organisation = { "x-platform-org-id": ids.organisation };
    key = { "x-api-key": made.key, "x-api-secret": made.secret, ...organisation };
    fan = { authorization: `Bearer ${(await world.fan("Sam")).token}`, ...organisation };
  });
  after(async () => {
    await world.dispose();
    await queue[Symbol.asyncDispose]();
  });

  const lists: readonly (readonly [path: string, pageMax: number, isOfFan?: true])[] = [
    [`${audience}/transactions`, 100, true],
    [`${audience}/challenges`, 100, true],
    [`${audience}/notifications`, 50, true],
    [actionDeadLetters, 100],
    [webhookDeadLetters, deadLettersPageMax],
    [`${audience}/internal/exports`, 100],
    [`${audience}/internal/export-trail`, 100],
  ];
  for (const [path, pageMax, isOfFan] of lists) {
    it(`of ${path.replace(ids.space, ":spaceId")} has at most ${pageMax} entries`, async () => {
      const page = (limit: number): Promise<Answer> =>
        world.call(`${path}?limit=${limit}`, { headers: isOfFan ? fan : key });
      const most = await page(pageMax);
      assert.equal(most.status, 200, most.text);
      assertRefused(await page(pageMax + 1));
      assertRefused(await page(0));
    });
  }

  const replays: readonly (readonly [path: string, idsMax: number, status: number])[] = [
    [`${actionDeadLetters}/replay`, 100, 200],
    [`${webhookDeadLetters}/replay`, deadLettersPageMax, 202],
  ];
  for (const [path, idsMax, status] of replays) {
    it(`of dead letters is replayed from ${path.replace(ids.space, ":spaceId")} up to ${idsMax} ids`, async () => {
      const replay = (count: number): Promise<Answer> => {
        const deadLetters = Array.from({ length: count }, (_, n) => `wdl_${String(n).padStart(32, "0")}`);
        return world.call(path, { headers: key, body: { ids: deadLetters } });
      };
      const most = await replay(idsMax);
      assert.equal(most.status, status, most.text);
      assertRefused(await replay(idsMax + 1));
    });
  }

  it(`of versions accepts numbers of up to ${versionDigitsMax} digits`, async () => {
    const version = (digits: number): Promise<Answer> =>
      world.call(`${space}/versions/${"9".repeat(digits)}`, { headers: key });
    assert.equal((await version(versionDigitsMax)).status, 404);
    assertRefused(await version(versionDigitsMax + 1));
  });
});
