/** What header fields of answers promise, for every operation of the platform. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { type Answer, openPlatform, type TestPlatform } from "../support/platform.ts";
import { credentialsFor, examplesFor, operationsOf, send, validExamples } from "./_operations.ts";

/** Operations whose answers are the same for everybody. Boards, feeds and documents are public. */
const cacheable: readonly string[] = [
  "getEventLeaderboardEntry",
  "getHistory",
  "getLatestResults",
  "getListings",
  "getLiveEvent",
  "getLiveProject",
  "getLiveStats",
  "getLoyaltySchema",
  "getOpenapi",
  "getProblem",
  "getProjectLeaderboardEntry",
  "getPublicKeys",
  "getRoot",
  "listEventLeaderboard",
  "listProjectLeaderboard",
  "readCatalogueElements",
  "readCatalogueSpec",
];
/** Fields that would say what the server is made of, or that credentials travel by themselves. */
const forbidden = ["server", "x-powered-by", "set-cookie", "refresh"];

describe("header fields of answers", () => {
  let world: TestPlatform;
  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }));
  });
  after(() => world.dispose());

  it("keep personal answers out of caches, types as they are, and say nothing of the server", async () => {
    const examples = await validExamples(world);
    const cached = new Set<string>();
    let checked = 0;
    for (const operation of await operationsOf(world)) {
      const headers = await credentialsFor(operation.scheme, world);
      for (const example of examplesFor(operation, examples)) {
        const answer = await send(world, operation, { example, headers });
        check(operation.id, answer);
        if (!/no-store/.test(answer.headers.get("cache-control") ?? "")) cached.add(operation.id);
        checked += 1;
      }
    }
    assert.ok(checked > 200);
    assert.deepEqual([...cached].sort(), cacheable);
  });
});

function check(id: string, { status, headers, text }: Answer): void {
  const shown = `${id} ${status}`;
  assert.equal(headers.get("x-content-type-options"), "nosniff", shown);
  assert.ok(status < 300 || status >= 400, `${shown} leads elsewhere`);
  assert.deepEqual(
    forbidden.filter(name => headers.has(name)),
    [],
    shown,
  );
  if (text === "") return;
  const type = headers.get("content-type") ?? "";
  assert.match(
    type,
    /^(?:application\/(?:[\w.]+\+)?json|text\/[\w-]+; charset=utf-8|text\/event-stream|\w+\/[\w.+-]+$)/,
    shown,
  );
  if (/^application\/(?:[\w.]+\+)?json\b/.test(type)) assert.doesNotThrow(() => JSON.parse(text), shown);
}
