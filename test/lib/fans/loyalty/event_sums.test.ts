/** Bounds of a user's running sums for boards of events, whose number grows for ever. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { spaceUserPartition } from "../../../../lib/fans/loyalty/user/state.ts";
import { parseState } from "../../../../lib/fans/loyalty/user/stored_state.ts";
import { ids, openPlatform, seed, type TestPlatform } from "../../../support/platform.ts";
import { describeOnStores } from "../../../support/stores.ts";

const sumMarginMs = 24 * 3_600_000;
const eventSumMs = 180 * sumMarginMs;

const member = {
  organisationId: ids.organisation,
  spaceId: ids.space,
  projectId: ids.project,
  userId: "11111111-1111-4111-8111-111111111111",
};
const eventIds = Array.from({ length: 12 }, (_, n) => `0d000000-0000-4000-8000-0000000001${10 + n}`);
const events = eventIds.map(id => ({
  id,
  projectId: ids.project,
  name: "Match",
  state: "past",
  startAt: 0,
  settings: { leaderboards: [{ id: "overall", source: { type: "action", action: "prediction" } }] },
})) as NonNullable<typeof seed.events>;

async function act({ platform }: TestPlatform, eventId: string): Promise<void> {
  const data = { eventId, outcome: "wrong" };
  await platform.loyalty.report(member, { action: "prediction", data, isClientReport: false });
  await platform.idle();
}

async function sumsOf({ store }: TestPlatform): Promise<number> {
  const [stored] = await store.read(spaceUserPartition(member), [{ type: "record", key: "loyalty" }]);
  return Object.keys(parseState(stored?.value ?? "{}").sums).length;
}

async function scoreOn({ call }: TestPlatform, eventId: string): Promise<unknown> {
  const { json } = await call(`/projects/${ids.project}/events/${eventId}/leaderboards/overall`);
  return json.data[0]?.score;
}

describeOnStores("the running sums of a user on boards of events", open => {
  it("are kept for a time after the last move, and the boards keep the scores", async t => {
    const league = await openPlatform(open, { seed: { ...seed, events } });
    t.after(() => league.dispose());
    const [first = "", second = ""] = eventIds;
    await act(league, first);
    const without = await sumsOf(league);
    league.clock.advance(eventSumMs - 1);
    await act(league, first);
    assert.equal(await scoreOn(league, first), 2);
    league.clock.advance(eventSumMs + sumMarginMs);
    await act(league, second);
    assert.deepEqual([await sumsOf(league), await scoreOn(league, first)], [without, 2]);
    await act(league, first);
    assert.equal(await scoreOn(league, first), 1, "begun anew");
  });

  it("are no more after years than a user moved in that time", async t => {
    const league = await openPlatform(open, { seed: { ...seed, events } });
    t.after(() => league.dispose());
    const before = await sumsOf(league);
    for (const eventId of eventIds) {
      await act(league, eventId);
      league.clock.advance(eventSumMs / 2);
    }
    assert.ok((await sumsOf(league)) - before <= 4, String(await sumsOf(league)));
    for (const eventId of eventIds) assert.equal(await scoreOn(league, eventId), 1);
  });
});
