/** A user's challenges in pages, in the order in which they matter. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { type Answer, ids, loyalty, openPlatform, seed } from "../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../support/stores.ts";

const path = "/v1/api/audience/challenges";
const count = 30;
const hourSeconds = 3_600;

/** Challenges of which the first one is completed at once and each later one ends an hour before the one before. */
function space(now: number): object {
  const endsAt = Math.floor(now / 1_000) + 1_000 * hourSeconds;
  const uuidOf = (kind: number, n: number): string =>
    `${kind}0000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  return {
    ...loyalty,
    challenges: Array.from({ length: count }, (_, n) => ({
      id: uuidOf(1, n),
      title: `Challenge ${n}`,
      time: { showInUI: true, from: 0, to: endsAt - n * hourSeconds },
      missions: [{ id: uuidOf(2, n), title: "Cheer", rule: { action: "cheer", count: n === 0 ? 1 : 2 } }],
    })),
  };
}

async function openedFan(
  open: OpenStore,
): Promise<{ get(query: string): Promise<Answer>; act(): Promise<unknown>; dispose(): Promise<void> }> {
  const startAt = Date.parse("2026-06-01T10:00:00Z");
  const world = await openPlatform(open, {
    startAt,
    seed: { ...seed, loyalty: { [ids.space]: space(startAt) } },
  });
  const fan = await world.fan("Sam");
  const headers = { "x-platform-org-id": ids.organisation };
  return {
    get: query => world.call(`${path}${query}`, { token: fan.token, headers }),
    act: () => fan.act("cheer"),
    dispose: () => world.dispose(),
  };
}

const titles = ({ json }: Answer): string[] => json.data.map(({ title }: { title: string }) => title);

describeOnStores("challenges in pages", open => {
  it("go on where the page before ended, those that end soonest first and those that are over last", async t => {
    const fan = await openedFan(open);
    t.after(() => fan.dispose());
    await fan.act();
    const first = await fan.get("");
    assert.equal(first.json.data.length, 20);
    const rest = await fan.get(`?lastEvaluatedKey=${first.json.lastEvaluatedKey}`);
    assert.equal(rest.json.lastEvaluatedKey, null);
    const expected = Array.from({ length: count }, (_, n) => `Challenge ${count - 1 - n}`);
    assert.deepEqual([...titles(first), ...titles(rest)], expected);
    assert.equal(rest.json.data.at(-1).status, "completed");
    const whole = await fan.get(`?limit=${100}`);
    assert.deepEqual(titles(whole), expected);
    assert.equal(whole.json.lastEvaluatedKey, null);
  });

  it("neither repeat nor skip what has not moved, whatever is completed between two pages", async t => {
    const fan = await openedFan(open);
    t.after(() => fan.dispose());
    await fan.act();
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Answer = await fan.get(`?limit=7${cursor === null ? "" : `&lastEvaluatedKey=${cursor}`}`);
      seen.push(...titles(page));
      cursor = page.json.lastEvaluatedKey;
      if (seen.length === 7) await fan.act();
    } while (cursor !== null);
    // All that went on were completed after the first page: they are over by then, and come after it.
    assert.equal(new Set(seen).size, count);
    assert.equal(seen.length, count + 7);
  });

  it("are narrowed by status, and a cursor belongs to the list that it is of", async t => {
    const fan = await openedFan(open);
    t.after(() => fan.dispose());
    await fan.act();
    assert.deepEqual(titles(await fan.get("?status=completed")), ["Challenge 0"]);
    const going = await fan.get("?status=in_progress&limit=10");
    assert.equal(going.json.data.length, 10);
    const cursor = going.json.lastEvaluatedKey;
    assert.equal((await fan.get(`?status=in_progress&limit=10&lastEvaluatedKey=${cursor}`)).status, 200);
    for (const other of ["", "status=completed&"]) {
      assert.equal((await fan.get(`?${other}lastEvaluatedKey=${cursor}`)).status, 400);
    }
  });
});
