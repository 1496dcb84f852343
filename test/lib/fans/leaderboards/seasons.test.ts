import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../../../adapters/conformance/random.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { parseBoards } from "../../../../lib/fans/leaderboards/settings/board_settings.ts";
import {
  closesAt,
  keptUntil,
  listSeasons,
  previousSeason,
  requireOpen,
  type SeasonRules,
  seasonAt,
  seasonById,
  selectSeason,
} from "../../../../lib/fans/leaderboards/settings/seasons.ts";

const at = (text: string): number => Date.parse(text);
const hourMs = 3_600_000;

/** A board as its settings make it. */
function board(seasons: unknown, settings: Record<string, unknown> = {}): SeasonRules {
  const [declaration] = parseBoards([{ id: "b", seasons, ...settings }], "");
  assert.ok(declaration !== undefined);
  return declaration;
}

const cup = board(
  {
    type: "explicit",
    list: [
      { id: "spring", startsAt: "2026-03-01T00:00:00Z", endsAt: "2026-06-01T00:00:00Z" },
      { id: "summer", startsAt: "2026-06-01T00:00:00Z", endsAt: "2026-09-01T00:00:00Z" },
      { id: "winter", startsAt: "2026-11-01T00:00:00Z", endsAt: "2027-02-01T00:00:00Z" },
    ],
  },
  { keepSeasons: 1, graceMs: hourMs },
);
const plain = board({ type: "none" });
const idAt = (of: SeasonRules, time: string): string | undefined => seasonAt(of, at(time))?.id;
const refusal =
  (code: string, text = "") =>
  (error: unknown) =>
    error instanceof AppError && error.code === code && error.message.includes(text);

describe("the season of an instant", () => {
  it("is the listed one that contains it, start included and end excluded", () => {
    assert.equal(idAt(cup, "2026-02-28T23:59:59.999Z"), undefined);
    assert.equal(idAt(cup, "2026-03-01T00:00Z"), "spring");
    assert.equal(idAt(cup, "2026-05-31T23:59:59.999Z"), "spring");
    assert.equal(idAt(cup, "2026-06-01T00:00Z"), "summer");
    assert.equal(idAt(cup, "2026-10-01T00:00Z"), undefined);
    assert.equal(idAt(cup, "2027-02-01T00:00Z"), undefined);
    assert.equal(idAt(plain, "2026-06-01T00:00Z"), undefined);
  });

  it("is the day, week or month of the board's zone", () => {
    const table: [type: string, timeZone: string, time: string, id: string][] = [
      ["daily", "UTC", "2026-11-21T23:59Z", "2026-11-21"],
      ["daily", "Asia/Kathmandu", "2026-11-21T18:14Z", "2026-11-21"],
      ["daily", "Asia/Kathmandu", "2026-11-21T18:15Z", "2026-11-22"],
      ["daily", "America/St_Johns", "2026-12-01T03:29Z", "2026-11-30"],
      ["daily", "America/St_Johns", "2026-12-01T03:30Z", "2026-12-01"],
      ["weekly", "Europe/Berlin", "2026-11-22T22:59Z", "2026-W47"],
      ["weekly", "Europe/Berlin", "2026-11-22T23:00Z", "2026-W48"],
      ["weekly", "UTC", "2027-01-01T00:00Z", "2026-W53"],
      ["monthly", "UTC", "2028-02-29T23:59Z", "2028-02"],
      ["monthly", "America/New_York", "2026-12-01T04:59Z", "2026-11"],
      ["monthly", "America/New_York", "2026-12-01T05:00Z", "2026-12"],
    ];
    for (const [type, timeZone, time, id] of table) {
      assert.equal(idAt(board({ type, timeZone }), time), id, `${type} ${timeZone} ${time}`);
    }
  });

  it("lasts 23 or 25 hours on the days on which clocks change", () => {
    const daily = board({ type: "daily", timeZone: "America/St_Johns" });
    for (const [day, hours] of [
      ["2026-03-08", 23],
      ["2026-11-01", 25],
      ["2026-11-02", 24],
    ] as const) {
      const season = seasonById(daily, day);
      assert.equal(((season?.endsAt ?? 0) - (season?.startsAt ?? 0)) / hourMs, hours, day);
    }
  });

  it("is followed by the next without a gap, and found again by its id", () => {
    const random = createRandom(21);
    const zones = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Australia/Lord_Howe"];
    for (let run = 0; run < 300; run++) {
      const seasonal = board({
        type: random.pick(["daily", "weekly", "monthly"]),
        timeZone: random.pick(zones),
      });
      const time = at("2020-01-01T00:00Z") + random.integer(20 * 365 * 24) * hourMs;
      const season = seasonAt(seasonal, time);
      assert.ok(season !== null && season.startsAt <= time && time < season.endsAt);
      assert.equal(seasonById(seasonal, season.id)?.startsAt, season.startsAt);
      assert.equal(seasonAt(seasonal, season.endsAt)?.startsAt, season.endsAt);
      assert.equal(previousSeason(seasonal, season.endsAt)?.id, season.id);
      assert.equal(previousSeason(seasonal, time)?.endsAt, season.startsAt);
    }
  });
});

describe("the seasons that a board keeps", () => {
  it("are the running one and as many past ones as declared", () => {
    const daily = board({ type: "daily" }, { keepSeasons: 3 });
    const ids = listSeasons(daily, at("2028-03-02T12:00Z")).map(({ id }) => id);
    assert.deepEqual(ids, ["2028-03-02", "2028-03-01", "2028-02-29", "2028-02-28"]);
    const list = (time: string): string[] => listSeasons(cup, at(time)).map(({ id }) => id);
    assert.deepEqual(list("2026-07-01T00:00Z"), ["summer", "spring"]);
    assert.deepEqual(list("2026-10-01T00:00Z"), ["summer"]);
    assert.deepEqual(list("2026-11-01T00:00Z"), ["winter", "summer"]);
    assert.deepEqual(list("2030-01-01T00:00Z"), ["winter"]);
    assert.deepEqual(list("2026-01-01T00:00Z"), []);
    assert.deepEqual(listSeasons(plain, 0), []);
  });

  it("expire when enough later ones have ended, counted in months for monthly ones", () => {
    const monthly = board({ type: "monthly", timeZone: "Europe/Berlin" }, { keepSeasons: 2 });
    const january = seasonById(monthly, "2026-01");
    assert.ok(january !== null);
    assert.equal(new Date(keptUntil(monthly, january)).toISOString(), "2026-03-31T22:00:00.000Z");
    const spring = seasonById(cup, "spring");
    assert.ok(spring !== null);
    assert.equal(new Date(keptUntil(cup, spring)).toISOString(), "2026-09-01T00:00:00.000Z");
    const winter = seasonById(cup, "winter");
    assert.ok(winter !== null);
    assert.equal(keptUntil(cup, winter), Number.POSITIVE_INFINITY);
  });

  it("are kept until they are closed, however long their grace time is", () => {
    const daily = board({ type: "daily" }, { keepSeasons: 1, graceMs: 7 * 24 * hourMs });
    const day = seasonById(daily, "2026-11-21");
    assert.ok(day !== null);
    assert.equal(closesAt(daily, day), at("2026-11-29T00:00Z"));
    assert.equal(keptUntil(daily, day), at("2026-11-29T00:00Z"));
  });
});

describe("the season of a query", () => {
  const find = (of: SeasonRules, season: string | undefined, time: string): string | undefined =>
    selectSeason(of, { season, now: at(time) })?.id;

  it("is by default the running one, else the last that ended, else the first", () => {
    assert.equal(find(cup, undefined, "2026-07-01T00:00Z"), "summer");
    assert.equal(find(cup, undefined, "2026-10-01T00:00Z"), "summer");
    assert.equal(find(cup, undefined, "2026-01-01T00:00Z"), "spring");
    assert.equal(find(plain, undefined, "2026-01-01T00:00Z"), undefined);
  });

  it("may be named by its id, and by current and previous", () => {
    assert.equal(find(cup, "summer", "2026-10-01T00:00Z"), "summer");
    assert.equal(find(cup, "current", "2026-07-01T00:00Z"), "summer");
    assert.equal(find(cup, "previous", "2026-07-01T00:00Z"), "spring");
    assert.equal(find(cup, "previous", "2026-10-01T00:00Z"), "summer");
    const weekly = board({ type: "weekly" });
    assert.equal(find(weekly, "current", "2027-01-04T00:00Z"), "2027-W01");
    assert.equal(find(weekly, "previous", "2027-01-04T00:00Z"), "2026-W53");
  });

  it("is invalid if no season can have the id", () => {
    for (const id of ["autumn", "2026-W47", ""]) {
      assert.throws(() => find(cup, id, "2026-07-01T00:00Z"), refusal("validation_failed"), id);
    }
    const weekly = board({ type: "weekly" });
    for (const id of ["2025-W53", "2026-11", "2026-11-21"]) {
      assert.throws(() => find(weekly, id, "2026-07-01T00:00Z"), refusal("validation_failed"), id);
    }
    assert.throws(() => find(plain, "current", "2026-07-01T00:00Z"), refusal("validation_failed"));
  });

  it("is not found if there is none, it has not begun, or it is no longer kept", () => {
    assert.throws(() => find(cup, "current", "2026-10-01T00:00Z"), refusal("not_found", "none is running"));
    assert.throws(() => find(cup, "previous", "2026-04-01T00:00Z"), refusal("not_found", "none is over yet"));
    assert.throws(() => find(cup, "winter", "2026-10-31T23:59Z"), refusal("not_found", "has not begun"));
    assert.throws(() => find(cup, "spring", "2026-09-01T00:00Z"), refusal("not_found", "no longer kept"));
    assert.equal(find(cup, "spring", "2026-08-31T23:59Z"), "spring");
  });
});

describe("the season that a score is written to", () => {
  const open = (of: SeasonRules, time: string, now: string): string | undefined =>
    selectSeason(of, { at: at(time), now: at(now) })?.id;

  it("is that of the score's time, until the grace time after its end is over", () => {
    assert.equal(open(cup, "2026-05-31T23:59Z", "2026-06-01T00:59:59Z"), "spring");
    assert.throws(
      () => open(cup, "2026-05-31T23:59Z", "2026-06-01T01:00Z"),
      refusal("conflict", "its season spring ended at 2026-06-01T00:00:00.000Z and is closed"),
    );
    assert.equal(open(plain, "2026-05-31T23:59Z", "2036-06-01T01:00Z"), undefined);
  });

  it("is missing between seasons", () => {
    assert.throws(
      () => open(cup, "2026-10-01T00:00Z", "2026-10-01T00:00Z"),
      refusal("conflict", "no season of it"),
    );
  });

  it("can be checked separately", () => {
    requireOpen(cup, null, 0);
    const spring = seasonById(cup, "spring");
    requireOpen(cup, spring, at("2026-06-01T00:59Z"));
    assert.throws(() => requireOpen(cup, spring, at("2026-06-01T01:00Z")), refusal("conflict"));
  });
});
