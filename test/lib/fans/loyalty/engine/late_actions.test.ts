/** Actions that arrive late count where they happened, in whatever order they arrive. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../../../adapters/conformance/random.ts";
import { sampleSize } from "../../../../support/full.ts";
import { Player, points, rule } from "./_player.ts";

const runs = sampleSize(400, 100);
const dayMs = 86_400_000;
/** A Monday. */
const monday = Date.parse("2026-11-16T00:00:00Z");
const challengeId = (n: number): string => `0e000000-0000-4000-8000-00000000000${n}`;
const missionId = (n: number): string => `0f000000-0000-4000-8000-00000000000${n}`;

const aggregated = {
  count: { action: "go", window: { last: 2, unit: "day" } },
  sum: { action: "go", of: { var: "data.n" }, window: { calendar: "day" } },
  streak: { action: "go", unit: "day" },
  distinct: { action: "go", of: { var: "data.match" }, window: { last: 3, unit: "day" } },
};
const document = {
  rules: [
    rule("daily", [points(1)], { limits: [{ per: "user", max: 2, window: { calendar: "day" } }] }),
    rule("once-a-match", [points(1, "xp")], {
      limits: [{ per: "user", by: { var: "data.match" }, max: 1 }],
    }),
    rule("once-a-match-and-day", [points(1)], {
      limits: [{ per: "user", by: { var: "data.match" }, max: 1, window: { calendar: "day" } }],
    }),
    // Never fires, so that only the counters show.
    ...Object.entries(aggregated).map(([kind, definition]) =>
      rule(kind, [points(1)], { when: { gt: [{ [kind]: definition }, 1_000] } }),
    ),
  ],
  challenges: [
    {
      id: challengeId(1),
      title: "",
      missions: [
        { id: missionId(1), title: "", rule: { action: "go", count: 1_000 } },
        { id: missionId(2), title: "", rule: { action: "go", count: 100, distinct: { var: "data.match" } } },
      ],
    },
    {
      id: challengeId(2),
      title: "",
      recurrence: "onExpiration",
      period: "week",
      missions: [{ id: missionId(3), title: "", rule: { action: "go", count: 1_000 } }],
    },
  ],
};

type Reported = { readonly at: number; readonly data: { readonly n: number; readonly match: number } };

function randomActions(random: Random): readonly Reported[] {
  return Array.from({ length: 1 + random.integer(25) }, () => ({
    at: monday + random.integer(7 * dayMs),
    data: { n: random.integer(9), match: random.integer(6) },
  }));
}

function played(actions: readonly Reported[]): Player {
  const player = new Player(document);
  for (const { at, data } of actions) player.act("go", at, data);
  return player;
}

/** Everything that must not depend on the order of arrival. */
function countedOf({ state }: Player): unknown {
  const { metrics, counters, challenges } = state;
  const progress = Object.values(challenges).map(({ run, counts, values = {} }) => [
    run,
    counts,
    Object.values(values).map(list => [...list].sort()),
  ]);
  return { metrics, counters, progress };
}

describe("actions of a week", () => {
  it(`give the same counts, uses of limits, streaks and progress in whatever order they arrive, ${runs} times`, () => {
    for (let seed = 1; seed <= runs; seed++) {
      const random = createRandom(seed);
      const actions = randomActions(random);
      const inOrder = countedOf(played([...actions].sort((a, b) => a.at - b.at)));
      const newestFirst = [...actions].sort((a, b) => b.at - a.at);
      assert.deepEqual(countedOf(played(newestFirst)), inOrder, `newest first, seed ${seed}`);
      assert.deepEqual(countedOf(played(actions)), inOrder, `random order, seed ${seed}`);
    }
  });

  it("reach a count and a streak in reverse as they do in order", () => {
    for (const [kind, definition] of Object.entries({
      streak: { action: "go", unit: "day" },
      count: { action: "go", window: { last: 4, unit: "day" } },
    })) {
      const rules = [rule("three", [points(5)], { when: { eq: [{ [kind]: definition }, 3] } })];
      for (const days of [
        [0, 1, 2, 3],
        [3, 2, 1, 0],
      ]) {
        const player = new Player({ rules });
        for (const day of days) player.act("go", monday + day * dayMs);
        assert.equal(player.state.metrics.points, 5, `${kind} ${days}`);
      }
    }
  });

  it("never exceed a limit of a rolling window, whose every part counts", () => {
    const rules = [
      rule("r", [points(1)], { limits: [{ per: "user", max: 1, window: { last: 3, unit: "day" } }] }),
    ];
    for (let seed = 1; seed <= runs; seed++) {
      const player = new Player({ rules });
      const fired: number[] = [];
      for (const { at } of randomActions(createRandom(seed))) {
        if (player.act("go", at).fired.length > 0) fired.push(Math.floor((at - monday) / dayMs));
      }
      for (const a of fired) {
        assert.equal(fired.filter(b => Math.abs(a - b) < 3).length, 1, `seed ${seed}: ${fired}`);
      }
    }
  });
});

/** Days before the newest at which a late action still counts for a streak. */
const lateDays = 7;

/** Returns the days of actions in their order of arrival; differences at the edge of what counts are frequent. */
function randomDays(random: Random): readonly number[] {
  let newest = 0;
  return Array.from({ length: 1 + random.integer(25) }, () => {
    const back = random.integer(3) === 0 ? random.integer(10) : random.pick([lateDays, lateDays + 1, 0, 1]);
    const day = random.integer(4) === 0 ? newest + random.integer(10) : newest - back;
    newest = Math.max(newest, day);
    return day;
  });
}

describe("a streak", () => {
  it(`counts each action that is at most ${lateDays} days late, as a set of days does, ${runs} times`, () => {
    const rules = [rule("r", [points({ streak: { action: "go", unit: "day" } })])];
    for (let seed = 1; seed <= runs; seed++) {
      const player = new Player({ rules });
      const active = new Set<number>();
      let before = 0;
      for (const day of randomDays(createRandom(seed))) {
        player.act("go", monday + day * dayMs);
        const after = Number(player.state.metrics.points ?? 0);
        const isCounted = day >= Math.max(day, ...active) - lateDays;
        if (isCounted) {
          active.add(day);
          let [first, last] = [day, day];
          while (active.has(first - 1)) first--;
          while (active.has(last + 1)) last++;
          assert.equal(after - before, last - first + 1, `seed ${seed}, day ${day} of ${[...active]}`);
        }
        before = after;
      }
    }
  });
});

describe("a late action", () => {
  it("changes balances at the last change, and its record has both times", () => {
    const player = played([{ at: monday + dayMs, data: { n: 0, match: 1 } }]);
    const { record } = player.act("go", monday, { match: 2 });
    assert.deepEqual([record.at, record.action?.at], [monday + dayMs, monday]);
    const [inTime] = player.records;
    assert.equal(inTime?.action?.at, undefined);
  });

  it("counts for no period but its own, and for no challenge that a rule started later", () => {
    const mission = { id: missionId(1), title: "", rule: { action: "go", count: 9 } };
    const common = { title: "", missions: [mission] };
    const player = new Player({
      rules: [
        rule("start", [{ type: "challengeStart", challengeId: challengeId(2) }], {
          trigger: { action: "stop" },
        }),
      ],
      challenges: [
        { ...common, id: challengeId(1), recurrence: "onExpiration", period: "day" },
        { ...common, id: challengeId(2), start: "rule" },
        { ...common, id: challengeId(3), time: { from: (monday + dayMs) / 1_000, to: 0 } },
        { ...common, id: challengeId(4) },
      ],
    });
    player.act("stop", monday + dayMs);
    player.act("go", monday + dayMs + 1);
    player.act("go", monday);
    assert.deepEqual(
      [1, 2, 3, 4].map(n => player.state.challenges[challengeId(n)]?.counts[missionId(1)]),
      [1, 1, 1, 2],
    );
  });

  it("counts in the oldest step that is kept where it is older, so that no limit is evaded", () => {
    const rules = [
      rule("r", [points(1)], { limits: [{ per: "user", max: 2, window: { calendar: "day" } }] }),
    ];
    const player = new Player({ rules });
    player.act("go", monday + 30 * dayMs);
    for (let day = 0; day < 20; day++) player.act("go", monday + day * dayMs);
    assert.equal(player.state.metrics.points, 3);
  });
});

describe("a limit for each value", () => {
  const once = rule("r", [points(1)], { limits: [{ per: "user", by: { var: "data.match" }, max: 1 }] });

  it("counts each value for itself, a number and its text apart, and refuses an action without the value", () => {
    const player = new Player({ rules: [once] });
    for (const match of ["1", "2", "1", 1, true, 1, "2"]) player.act("go", 0, { match });
    assert.equal(player.state.metrics.points, 4);
    for (const _ of "12") player.act("go", 0, {});
    assert.equal(player.state.metrics.points, 4);
  });

  it("remembers 1,000 values of a user and forgets the one used first", () => {
    const player = new Player({ rules: [once] });
    for (let match = 0; match < 1_000; match++) player.act("go", match, { match });
    player.act("go", 1_000, { match: 0 });
    assert.equal(player.state.metrics.points, 1_000);
    player.act("go", 1_001, { match: 1_000 });
    player.act("go", 1_002, { match: 1 });
    assert.equal(player.state.metrics.points, 1_001);
    player.act("go", 1_003, { match: 0 });
    assert.equal(player.state.metrics.points, 1_002);
    const [counter] = Object.values(player.state.counters);
    assert.ok(counter !== undefined && "values" in counter);
    assert.equal(Object.keys(counter.values).length, 1_000);
  });

  it("drops values of windows that are over before values that count", () => {
    const window = { calendar: "day" };
    const daily = { limits: [{ per: "user", by: { var: "data.match" }, max: 1, window }] };
    const player = new Player({ rules: [rule("r", [points(1)], daily)] });
    for (let match = 0; match < 900; match++) player.act("go", 0, { match });
    for (let match = 0; match < 900; match++) player.act("go", 30 * dayMs, { match });
    for (let match = 0; match < 900; match++) player.act("go", 30 * dayMs, { match });
    assert.equal(player.state.metrics.points, 1_800);
  });
});

describe("distinct values", () => {
  it("count in conditions, in their window, and leave out actions without the value", () => {
    const distinct = { distinct: { action: "go", of: { var: "data.match" }, window: { calendar: "day" } } };
    const player = new Player({ rules: [rule("r", [points(1)], { when: { eq: [distinct, 2] } })] });
    const fired = ["a", "a", "b", "a", "c"].map(match => player.act("go", 0, { match }).fired.length);
    assert.deepEqual(fired, [0, 0, 1, 1, 0]);
    assert.equal(player.act("go", dayMs, {}).fired.length, 0);
    assert.equal(player.act("go", dayMs, { match: "a" }).fired.length, 0);
    assert.equal(player.act("go", dayMs, { match: "b" }).fired.length, 1);
  });

  it("complete a mission by different values, and begin anew with the next run", () => {
    const mission = {
      id: missionId(1),
      title: "",
      rule: { action: "go", count: 2, distinct: { var: "data.match" } },
    };
    const player = new Player({
      challenges: [
        {
          id: challengeId(1),
          title: "",
          recurrence: "onExpiration",
          period: "day",
          missions: [mission],
          rewards: [points(1)],
        },
      ],
    });
    for (const match of ["a", "a", "a"]) player.act("go", 0, { match });
    player.act("go", 0, {});
    assert.equal(player.state.metrics.points, undefined);
    player.act("go", 1, { match: "b" });
    assert.equal(player.state.metrics.points, 1);
    for (const match of ["a", "a"]) player.act("go", dayMs, { match });
    assert.equal(player.state.metrics.points, 1);
    player.act("go", dayMs, { match: "c" });
    assert.equal(player.state.metrics.points, 2);
  });
});
