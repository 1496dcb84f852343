/** Users who return after so long that expiries are merged. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../../adapters/conformance/random.ts";
import type { Reward } from "../../../../lib/fans/loyalty/config/parts.ts";
import { advanceTime, settledInstantsMax } from "../../../../lib/fans/loyalty/engine/advance_time.ts";
import { applyAction } from "../../../../lib/fans/loyalty/engine/apply_change.ts";
import { compareStates, replay } from "../../../../lib/fans/loyalty/engine/replay.ts";
import { notificationsMax } from "../../../../lib/fans/loyalty/user/inbox.ts";
import { sampleSize } from "../../../support/full.ts";
import { ids, loyalty, openPlatform, seed } from "../../../support/platform.ts";
import { describeOnStores } from "../../../support/stores.ts";
import { type WatchedStore, watching } from "../../../support/watched_store.ts";
import { badge, Player, points, rule } from "./engine/_player.ts";

const chainedExpiriesMax = 32;
const runs = sampleSize(300, 100);
const minuteMs = 60_000;

/** Points that expire, with rules whose result depends on the number of separate expiries. */
function documentOf(random: Random): object {
  const limits = [{ per: "user", max: 1 + random.integer(40) }];
  const onLapse = { trigger: { metric: "points" } };
  const least = 1 + random.integer(30);
  return {
    metrics: [
      { id: "points", title: "", lots: { expires: { after: { hours: 1 + random.integer(30) } } } },
      { id: "xp", title: "", maximumValue: 1_000 },
    ],
    rules: [
      rule("earn", [points(1)]),
      rule("comfort", [points(1 + random.integer(3))], {
        ...onLapse,
        when: { lt: [{ var: "user.metrics.points" }, least] },
        ...(random.chance(0.7) ? { limits } : {}),
      }),
      rule("told", [points(1, "xp")], onLapse),
      rule("lost", [{ ...badge(), type: "inventoryLoss" }], onLapse),
      rule("won", [badge()], { ...onLapse, when: { eq: [{ var: "user.metrics.xp" }, random.integer(99)] } }),
    ],
  };
}

describe("a user with more due instants than are settled separately", () => {
  it(`has the state that a replay of the history gives, in ${runs} random histories`, () => {
    let merged = 0;
    for (let seed = 1; seed <= runs; seed++) {
      const random = createRandom(seed);
      const player = new Player(documentOf(random));
      let at = 1_000_000;
      for (let visit = 0; visit < 3; visit++) {
        for (let actions = random.integer(2 * settledInstantsMax); actions >= 0; actions--) {
          at += random.pick([0, 1, minuteMs, 7 * minuteMs]);
          player.act("go", at);
        }
        at += random.integer(90) * 60 * minuteMs;
        player.pass(at);
      }
      merged += player.records.filter(({ mergedFrom }) => mergedFrom !== undefined).length;
      const replayed = replay(player.compiled, player.records);
      assert.deepEqual(compareStates(player.state, replayed), [], `seed ${seed}`);
      assert.deepEqual(replayed, player.state, `seed ${seed}`);
    }
    assert.ok(merged > runs / 10, `only ${merged} settlements were of many instants`);
  });

  it("has separate records up to the bound, and one with mergedFrom beyond it", () => {
    const parts = {
      metrics: [{ id: "points", title: "", lots: { expires: { after: { hours: 10 } } } }],
      rules: [rule("r", [points(1)])],
    };
    for (const beyond of [0, 1, 5]) {
      const player = new Player(parts);
      for (let n = 0; n < settledInstantsMax + beyond; n++) player.act("go", n * minuteMs);
      player.pass(1e9);
      const settled = player.records.filter(({ kind }) => kind === "settlement");
      const last = settled.at(-1);
      assert.equal(settled.length, settledInstantsMax + Math.min(beyond, 1));
      const from = beyond === 0 ? undefined : 10 * 60 * minuteMs + settledInstantsMax * minuteMs;
      assert.deepEqual(
        [last?.mergedFrom, last?.transactions[0]?.entries.length],
        [from, Math.max(beyond, 1)],
      );
    }
  });
});

describe("points that replace expired points", () => {
  const document = {
    metrics: [{ id: "points", title: "", lots: { expires: { after: { minutes: 1 } } } }],
    rules: [rule("earn", [points(5)]), rule("again", [points(5)], { trigger: { metric: "points" } })],
  };

  it("expire for good after 32 settlements in a row, until another event", () => {
    const player = new Player(document);
    player.act("go", 0);
    for (let visit = 1; player.state.dueAt !== null; visit++) {
      assert.ok(visit <= chainedExpiriesMax + 1, "goes on for ever");
      player.pass(player.state.dueAt ?? 0);
    }
    assert.deepEqual([player.state.metrics.points, player.state.lots.points], [0, []]);
    const { diagnostics } = advanceTime(player.compiled, player.state, 1e9);
    assert.deepEqual(diagnostics, []);
    const settled = player.records.filter(({ kind }) => kind === "settlement");
    assert.equal(settled.length, chainedExpiriesMax + 1);
    assert.deepEqual(replay(player.compiled, player.records), player.state);

    player.act("go", 1e9);
    player.pass(player.state.dueAt ?? 0);
    assert.ok((player.state.metrics.points ?? 0) > 0);
  });

  it("have a diagnostic after that", () => {
    const player = new Player(document);
    player.act("go", 0);
    const { diagnostics, records, state } = advanceTime(player.compiled, player.state, 1e9);
    assert.equal(records.length, chainedExpiriesMax + 1);
    assert.deepEqual(
      [diagnostics.at(-1), state.dueAt],
      [{ type: "lapsesExhausted", triggers: ["metric:points"] }, null],
    );
  });

  it("do not affect points without expiry", () => {
    const lots = { expires: { after: { minutes: 1 } } };
    const count = chainedExpiriesMax + 20;
    const player = new Player({
      metrics: [
        { id: "points", title: "", lots },
        { id: "xp", title: "" },
      ],
      rules: [rule("earn", [points(1)]), rule("told", [points(1, "xp")], { trigger: { metric: "points" } })],
    });
    for (let n = 0; n < count; n++) player.grant({ rewards: [points(1) as Reward], at: n });
    player.pass(1e9);
    assert.equal(player.state.metrics.xp, 2 * count);
  });
});

describe("time that passes without a record", () => {
  it("bounds the time of later actions, so that a replay is the same", () => {
    const id = "0e000000-0000-4000-8000-000000000001";
    const missions = [{ id: "0f000000-0000-4000-8000-000000000001", title: "", rule: { action: "go" } }];
    const runs = { recurrence: "onExpiration", within: { minutes: 1 } };
    const player = new Player({ challenges: [{ id, title: "", missions, rewards: [points(1)], ...runs }] });
    player.act("go", 0);
    assert.deepEqual(player.pass(minuteMs), []);
    player.take(applyAction(player.compiled, player.state, { name: "go", data: {}, at: 1 }));
    assert.deepEqual([player.state.metrics.points, player.last?.record.at], [2, minuteMs]);
    assert.deepEqual(replay(player.compiled, player.records), player.state);
  });
});

describeOnStores("a user who comes back after a long time", open => {
  const member = {
    organisationId: ids.organisation,
    spaceId: ids.space,
    projectId: ids.project,
    userId: "11111111-1111-4111-8111-111111111111",
  };
  const document = {
    ...loyalty,
    metrics: [...loyalty.metrics, { id: "coins", title: "", lots: { expires: { after: { hours: 24 } } } }],
    rules: [
      rule("coins", [points(2, "coins")], { trigger: { action: "prediction" } }),
      rule("comfort", [points(1)], { trigger: { metric: "coins" } }),
    ],
  };

  it("is stored as reads showed it, and the history replays to the same state", async t => {
    const league = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: document } } });
    t.after(() => league.dispose());
    const { loyalty: rewards } = league.platform;
    const report = { action: "prediction", data: {}, isClientReport: false };
    for (let n = 0; n < settledInstantsMax + 20; n++) {
      await rewards.report(member, report);
      league.clock.advance(minuteMs);
    }
    league.clock.advance(90 * 24 * 60 * minuteMs);
    const seen = await rewards.profile(member);
    await rewards.processDueUser(member);
    assert.deepEqual((await rewards.profile(member)).metrics, seen.metrics);
    assert.equal(seen.metrics.coins, 0);
    await rewards.report(member, report);
    assert.deepEqual((await rewards.replay(member)).differences, []);
    assert.deepEqual((await rewards.reconcile(member)).faults, []);
  });

  it("notifies with the newest 100 notifications, in a commit that the store takes", async t => {
    const notices = Array.from({ length: 50 }, (_, n) => ({
      type: "notification",
      notification: { display: "toast", title: `${n}` },
    }));
    const lots = { expires: { after: { hours: 24 } } };
    const announcing = {
      ...document,
      metrics: [...loyalty.metrics, ...["a", "b", "c"].map(id => ({ id, title: "", lots }))],
      rules: ["a", "b", "c"].flatMap((id, n) => [
        rule(`earn-${id}`, [points(1, id)], { trigger: { action: "prediction" } }),
        rule(`tell-${id}`, notices, {
          trigger: { metric: id },
          when: { eq: [{ var: `user.metrics.${id}` }, 0] },
          priority: n,
        }),
      ]),
    };
    const stores: WatchedStore[] = [];
    const league = await openPlatform(
      watching(open, store => stores.push(store)),
      { seed: { ...seed, loyalty: { [ids.space]: announcing } } },
    );
    t.after(() => league.dispose());
    const { loyalty: rewards } = league.platform;
    await rewards.report(member, { action: "prediction", data: {}, isClientReport: false });
    league.clock.advance(25 * 60 * minuteMs);
    await rewards.processDueUser(member);
    const appended = (stores[0]?.commits ?? []).flatMap(({ batch }) =>
      batch.writes.filter(write => write.type === "append" && write.key === "notifications"),
    );
    assert.equal(appended.length, notificationsMax);
    const titles = (await rewards.notifications(member)).map(({ title }) => title);
    assert.deepEqual(
      titles,
      [...notices, ...notices].map(({ notification }) => notification.title),
    );
    const history = await rewards.history(member, {});
    assert.equal(history.filter(({ type }) => type === "pointsExpired").length, 3);
  });
});
