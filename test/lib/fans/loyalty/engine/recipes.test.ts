/** The recipes of the guide do what it says, and their parts at the bounds. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dryRun, replay } from "../../../../../lib/fans/loyalty/engine/replay.ts";
import { compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import { recipeOf } from "../../../../support/recipes.ts";
import { Player, points, rule } from "./_player.ts";

/** Returns a player under the document of a recipe. */
function recipe(title: string): Player {
  return new Player(recipeOf(title));
}

describe("double points at a weekend", () => {
  const bought = (at: string, amount: number, shop = "stadium"): number | undefined =>
    recipe("Double points at a weekend").act("purchase", at, { amount, shop }).gained.points;

  it("are given from Friday evening to Sunday, within the time of the rule", () => {
    // 1796083200 is 2026-12-01T00:00:00Z, 1798761600 is 2027-01-01T00:00:00Z; Berlin is an hour ahead.
    const table: [at: string, points: number][] = [
      ["2026-12-04T16:59:59Z", 10],
      ["2026-12-04T17:00:00Z", 20],
      ["2026-12-06T22:59:59Z", 20],
      ["2026-12-06T23:00:00Z", 10],
      ["2026-11-29T12:00:00Z", 10],
      ["2027-01-02T12:00:00Z", 10],
    ];
    for (const [at, expected] of table) assert.equal(bought(at, 10), expected, at);
  });

  it("choose and bound amounts", () => {
    assert.equal(bought("2026-12-02T12:00:00Z", 500), 100);
    assert.equal(bought("2026-12-02T12:00:00Z", 500, "web"), 1);
    assert.equal(bought("2026-12-05T12:00:00Z", 500), 200);
  });

  it("are explained by a dry run where they are not given", () => {
    const { compiled, state } = recipe("Double points at a weekend");
    const data = { amount: 10, shop: "web" };
    const failures = (at: string): unknown =>
      dryRun(compiled, state, { name: "purchase", data, at: Date.parse(at) }).rules[0]?.failures;
    const expected = "a time of the weekly schedule";
    assert.deepEqual(failures("2026-12-03T12:00:00Z"), [
      { path: "/rules/1/schedule", expected, actual: "2026-12-03T12:00:00.000Z" },
    ]);
    assert.deepEqual(failures("2027-01-01T00:00:00Z"), [
      {
        path: "/rules/1/time",
        expected: "a time from `from` to before `to`",
        actual: "2027-01-01T00:00:00.000Z",
      },
    ]);
    assert.deepEqual(failures("2026-12-05T12:00:00Z"), []);
  });
});

describe("double all points of a week", () => {
  // The week from Monday 2026-12-01 to 2026-12-08, clocks of Berlin; the happy hour is on Fridays from 22:00 to 01:00.
  const given = (action: string, at: string, data: Readonly<Record<string, number>> = {}): number =>
    recipe("Double all points of a week").act(action, at, data).gained.points ?? 0;

  it("multiply what all rules give, or those with a tag, and the highest counts", () => {
    const table: [at: string, purchase: number, share: number][] = [
      ["2026-11-30T22:59:59Z", 7, 5],
      ["2026-11-30T23:00:00Z", 14, 10],
      ["2026-12-04T21:30:00Z", 14, 10],
      ["2026-12-07T22:59:59Z", 14, 10],
      ["2026-12-07T23:00:00Z", 7, 5],
      ["2026-12-11T21:00:00Z", 10, 5],
      ["2026-12-11T23:59:59Z", 10, 5],
      ["2026-12-12T00:00:00Z", 7, 5],
    ];
    for (const [at, purchase, share] of table) {
      const both = [given("purchase", at, { amount: 7 }), given("share", at)];
      assert.deepEqual(both, [purchase, share], at);
    }
    // 100 * 1.15 is a little less than 115 in binary.
    const precise = new Player({
      multipliers: [{ id: "x", factor: 1.15 }],
      rules: [rule("r", [points(100)])],
    });
    assert.equal(precise.act("go").gained.points, 115);
  });

  it("count once where hours overlap, take nothing more, and stay below caps", () => {
    const overlapping = {
      id: "x",
      factor: 3,
      schedule: {
        weekly: [{ days: ["monday", "tuesday"], from: "20:00", to: "10:00" }, { days: ["tuesday"] }],
      },
    };
    const amount = { var: "data.n" };
    const player = new Player({
      multipliers: [overlapping],
      metrics: [{ id: "points", title: "", minimumValue: -100 }],
      rules: [
        rule("plain", [points(amount)]),
        rule("capped", [points(10)], {
          trigger: { action: "stop" },
          caps: [{ metricId: "points", max: 25 }],
        }),
      ],
    });
    const tuesday = "2026-11-24T09:00:00Z";
    const gains = [4, -4].map(n => player.act("go", tuesday, { n }).gained.points);
    assert.deepEqual([...gains, player.act("stop", tuesday).gained.points], [12, -4, 25]);
    assert.deepEqual(replay(player.compiled, player.records), player.state);
  });

  it("are refused with the tag of no rule, a factor below 1 or above 100, and an id twice", () => {
    const faultsOf = (...multipliers: object[]): unknown => {
      try {
        new Player({ multipliers, rules: [rule("r", [points(1)], { tags: ["a"] })] });
      } catch (error) {
        return (error as { fields: { pointer: string }[] }).fields.map(({ pointer }) => pointer);
      }
      return [];
    };
    assert.deepEqual(faultsOf({ id: "x", factor: 2, tag: "a" }, { id: "y", factor: 100 }), []);
    assert.deepEqual(faultsOf({ id: "x", factor: 2, tag: "b" }), ["/multipliers/0/tag"]);
    assert.deepEqual(faultsOf({ id: "x", factor: 0.5 }, { id: "y", factor: 100.5 }), [
      "/multipliers/0/factor",
      "/multipliers/1/factor",
    ]);
    assert.deepEqual(faultsOf({ id: "x", factor: 2 }, { id: "x", factor: 3 }), ["/multipliers/1"]);
    assert.deepEqual(faultsOf({ id: "x", factor: 2, time: { from: 5, to: 5 } }), ["/multipliers/0/time"]);
  });
});

describe("at most so many points a day", () => {
  const walk = (player: Player, at: string, steps: number): number =>
    player.act("walk", at, { steps }).gained.points ?? 0;

  it("are given up to the cap of the rule, the last amount in part", () => {
    const player = recipe("At most so many points a day");
    const given = [3_000, 6_000, 4_000, 1_000].map(steps => walk(player, "2026-11-16T10:00:00Z", steps));
    assert.deepEqual(given, [30, 60, 10, 0]);
    assert.equal(walk(player, "2026-11-17T00:00:00Z", 20_000), 100);
  });

  it("are given up to the cap of the metric by all rules together, and again in the next week", () => {
    const player = recipe("At most so many points a day");
    const day = "2026-11-16T10:00:00Z";
    assert.equal(walk(player, day, 99_900), 100);
    const given = [1, 2, 3].map(() => player.act("visit", day).gained.points);
    assert.deepEqual(given, [150, 150, 100]);
    assert.equal(player.act("visit", "2026-11-22T23:59:59Z").gained.points, undefined);
    assert.equal(player.act("visit", "2026-11-23T00:00:00Z").gained.points, 150);
  });

  it("take no room where they were not given, and none where they are taken", () => {
    const amount = { var: "data.n" };
    const caps = [{ metricId: "points", max: 10 }];
    const metrics = [{ id: "points", title: "", maximumValue: 8 }];
    const player = new Player({ metrics, rules: [rule("r", [points(amount)], { caps })] });
    const gains = [20, -6, 20, 20, -20, 20].map(n => player.act("go", 0, { n }).gained.points ?? 0);
    assert.deepEqual(gains, [8, -6, 2, 0, -4, 0]);
  });
});

describe("days of the fan's own clocks", () => {
  const title = "Days of the fan's own clocks";
  const gained = (
    player: Player,
    timeZone: string,
    at: string,
    more: { happenedAt?: string } = {},
  ): number => {
    player.profile = { timeZone };
    return player.act("checkin", at, {}, more).gained.points ?? 0;
  };
  const tokyo = "Asia/Tokyo";
  const newYork = "America/New_York";

  it("begin and end at the fan's midnight, also when clocks change there", () => {
    const table: [zone: string, at: string, points: number][] = [
      // New York: 23:59:59 and midnight of the day whose clocks go forward, and its end 23 hours later.
      [newYork, "2026-03-08T04:59:59Z", 1],
      [newYork, "2026-03-08T05:00:00Z", 2],
      [newYork, "2026-03-09T03:59:59Z", 0],
      [newYork, "2026-03-09T04:00:00Z", 3],
    ];
    const player = recipe(title);
    for (const [zone, at, expected] of table) assert.equal(gained(player, zone, at), expected, at);
    // In Madrid, 23:30 and 00:30.
    for (const zone of ["Mars/Base", ""]) {
      const other = recipe(title);
      const days = ["2026-03-08T22:30:00Z", "2026-03-08T23:30:00Z"].map(at => gained(other, zone, at));
      assert.deepEqual(days, [1, 2], zone);
    }
  });

  it("are not two in one for a fan who switches zones", () => {
    const player = recipe(title);
    assert.equal(gained(player, tokyo, "2026-11-26T14:00:00Z"), 1); // 23:00 of the 26th
    assert.equal(gained(player, newYork, "2026-11-26T14:30:00Z"), 0); // 09:30 of the 26th there
    assert.equal(gained(player, newYork, "2026-11-26T15:30:00Z"), 0); // still the 26th in New York
    assert.equal(gained(player, tokyo, "2026-11-26T16:00:00Z"), 0); // and the change stays for a week
    assert.equal(gained(player, newYork, "2026-11-27T05:00:00Z"), 2);
    assert.equal(gained(player, tokyo, "2026-11-27T15:00:00Z"), 0); // 00:00 of the 28th in Tokyo
    const east = recipe(title);
    assert.equal(gained(east, newYork, "2026-11-26T14:30:00Z"), 1); // 09:30 of the 26th
    assert.equal(gained(east, tokyo, "2026-11-26T15:30:00Z"), 0); // 00:30 of the 27th there
    assert.equal(gained(east, tokyo, "2026-11-27T04:59:59Z"), 0); // the end of the day in New York
    assert.equal(gained(east, tokyo, "2026-11-27T05:00:00Z"), 2);
    assert.equal(gained(east, tokyo, "2026-11-27T15:00:00Z"), 3);
    // A late action counts in the zone in which it happened: 20:00 of the 25th in New York, before three days in a row.
    assert.equal(gained(east, tokyo, "2026-11-28T00:00:00Z", { happenedAt: "2026-11-26T01:00:00Z" }), 4);
    for (const { compiled, records, state } of [player, east]) {
      assert.deepEqual(replay(compiled, records), state);
    }
  });

  it("give no second run of a daily challenge to a fan who flies west", () => {
    const id = "0e000000-0000-4000-8000-000000000001";
    const mission = { id: "0f000000-0000-4000-8000-000000000001", title: "", rule: { action: "checkin" } };
    const player = new Player({
      ...recipeOf(title),
      challenges: [
        {
          id,
          title: "",
          recurrence: "onExpiration",
          period: "day",
          missions: [mission],
          rewards: [points(100)],
        },
      ],
    });
    assert.equal(gained(player, tokyo, "2026-11-26T14:00:00Z"), 101);
    assert.equal(gained(player, newYork, "2026-11-26T14:30:00Z"), 0);
    assert.equal(gained(player, newYork, "2026-11-26T15:30:00Z"), 0);
    assert.equal(player.state.challenges[id]?.status, "none");
    assert.equal(gained(player, newYork, "2026-11-27T05:00:00Z"), 102);
  });

  it("need a custom field of the profile", () => {
    assert.throws(
      () => compileConfig({ userTimeZone: { var: "user.segments" } }),
      (error: { fields: { pointer: string }[] }) => error.fields[0]?.pointer === "/userTimeZone/var",
    );
  });
});

describe("the weekly schedule of a rule", () => {
  const fires = (schedule: object, at: string): boolean =>
    new Player({ rules: [rule("r", [points(1)], { schedule })] }).act("go", at).gained.points === 1;

  it("spans midnight, and the end of the week", () => {
    const schedule = { timeZone: "UTC", weekly: [{ days: ["sunday"], from: "22:30", to: "01:00" }] };
    const table: [at: string, isIn: boolean][] = [
      ["2026-11-22T22:29:59Z", false],
      ["2026-11-22T22:30:00Z", true],
      ["2026-11-23T00:59:59Z", true],
      ["2026-11-23T01:00:00Z", false],
      ["2026-11-22T00:30:00Z", false],
    ];
    for (const [at, isIn] of table) assert.equal(fires(schedule, at), isIn, at);
  });

  it("follows the clocks of its time zone when they change", () => {
    const weekly = [{ days: ["sunday"], from: "02:00", to: "03:00" }];
    const schedule = { timeZone: "Europe/Berlin", weekly };
    // In autumn 02:00 to 03:00 comes twice, in spring not at all.
    for (const at of ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]) assert.ok(fires(schedule, at), at);
    for (const at of ["2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"]) assert.ok(!fires(schedule, at), at);
  });

  it("is refused where it could never be meant", () => {
    const refusedAt = (more: object): string | undefined => {
      try {
        compileConfig(JSON.parse(JSON.stringify({ ...base(more) })));
      } catch (error) {
        return (error as { fields: { pointer: string }[] }).fields[0]?.pointer;
      }
      return undefined;
    };
    const base = (more: object): object => ({
      metrics: [{ id: "points", title: "" }],
      actions: [{ name: "go" }],
      rules: [rule("r", [points(1)], more)],
    });
    const week = (hours: object): object => ({ schedule: { weekly: [{ days: ["monday"], ...hours }] } });
    assert.equal(refusedAt(week({ from: "23:59" })), undefined);
    assert.equal(refusedAt(week({ from: "24:00" })), "/rules/0/schedule/weekly/0/from");
    assert.equal(refusedAt(week({ to: "24:01" })), "/rules/0/schedule/weekly/0/to");
    assert.equal(refusedAt(week({ from: "10:00", to: "10:00" })), "/rules/0/schedule/weekly/0");
    assert.equal(refusedAt(week({ days: ["someday"] })), "/rules/0/schedule/weekly/0/days/0");
    assert.equal(refusedAt({ schedule: { weekly: [] } }), "/rules/0/schedule/weekly");
    assert.equal(
      refusedAt({ schedule: { timeZone: "Mars", weekly: [{ days: ["monday"] }] } }),
      "/rules/0/schedule/timeZone",
    );
    assert.equal(refusedAt({ time: { from: 5, to: 5 } }), "/rules/0/time");
  });
});
