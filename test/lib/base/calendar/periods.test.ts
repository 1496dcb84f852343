import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Temporal } from "temporal-polyfill";
import { createRandom } from "../../../../adapters/conformance/random.ts";
import {
  bucketOf,
  bucketUnits,
  type CalendarUnit,
  cachedPeriodsMax,
  cachedZonesMax,
  calendarUnits,
  endOfPeriod,
  isTimeZone,
  periodById,
  periodOf,
  timeZoneCharactersMax,
} from "../../../../lib/base/calendar/mod.ts";

const at = (text: string): number => Date.parse(text);
const hourMs = 3_600_000;

/** Start and end as ISO 8601 in UTC, so that a failure can be read. */
function bounds(unit: CalendarUnit, zone: string, instant: string): [id: string, from: string, to: string] {
  const { id, startsAt, endsAt } = periodOf(unit, zone, at(instant));
  return [id, new Date(startsAt).toISOString().slice(0, 16), new Date(endsAt).toISOString().slice(0, 16)];
}

describe("a period", () => {
  it("is known by the date in its zone, not by the date in UTC", () => {
    const table: [zone: string, instant: string, id: string, from: string, to: string][] = [
      ["UTC", "2026-11-21T00:00Z", "2026-11-21", "2026-11-21T00:00", "2026-11-22T00:00"],
      ["Asia/Kathmandu", "2026-11-21T18:14:59.999Z", "2026-11-21", "2026-11-20T18:15", "2026-11-21T18:15"],
      ["Asia/Kathmandu", "2026-11-21T18:15Z", "2026-11-22", "2026-11-21T18:15", "2026-11-22T18:15"],
      ["America/St_Johns", "2026-12-01T03:29Z", "2026-11-30", "2026-11-30T03:30", "2026-12-01T03:30"],
      ["Pacific/Chatham", "2026-06-01T11:15Z", "2026-06-02", "2026-06-01T11:15", "2026-06-02T11:15"],
      ["Pacific/Kiritimati", "2026-01-01T10:00Z", "2026-01-02", "2026-01-01T10:00", "2026-01-02T10:00"],
    ];
    for (const [zone, instant, id, from, to] of table) {
      assert.deepEqual(bounds("day", zone, instant), [id, from, to], `${zone} ${instant}`);
    }
  });

  it("of a day is 23 hours long when clocks go forward and 25 when they go back", () => {
    const table: [zone: string, instant: string, hours: number][] = [
      ["Europe/Berlin", "2026-03-29T12:00Z", 23],
      ["Europe/Berlin", "2026-10-25T12:00Z", 25],
      ["America/New_York", "2026-03-08T12:00Z", 23],
      ["America/New_York", "2026-11-01T12:00Z", 25],
      ["America/St_Johns", "2026-03-08T12:00Z", 23],
      ["America/St_Johns", "2026-11-01T12:00Z", 25],
      ["Australia/Lord_Howe", "2026-10-04T00:00Z", 23.5],
      ["Australia/Lord_Howe", "2026-04-05T00:00Z", 24.5],
      ["Asia/Kathmandu", "2026-03-29T12:00Z", 24],
    ];
    for (const [zone, instant, hours] of table) {
      const { startsAt, endsAt } = periodOf("day", zone, at(instant));
      assert.equal((endsAt - startsAt) / hourMs, hours, `${zone} ${instant}`);
    }
  });

  it("begins with the day's first minute where clocks go forward at midnight", () => {
    assert.deepEqual(bounds("day", "Asia/Beirut", "2026-03-29T10:00Z"), [
      "2026-03-29",
      "2026-03-28T22:00",
      "2026-03-29T21:00",
    ]);
  });

  it("gives the time that clocks repeat before midnight to the day that has begun", () => {
    // In 2010 clocks went back in St. John's at 00:01 of 7 November (02:31 UTC), to 23:01 of the day before.
    const sunday = ["2010-11-07", "2010-11-07T02:30", "2010-11-08T03:30"];
    assert.deepEqual(bounds("day", "America/St_Johns", "2010-11-07T02:30:30Z"), sunday);
    assert.deepEqual(bounds("day", "America/St_Johns", "2010-11-07T03:00Z"), sunday);
    assert.deepEqual(bounds("day", "America/St_Johns", "2010-11-07T02:29Z")[0], "2010-11-06");
  });

  it("leaves out a date that a zone skipped", () => {
    assert.deepEqual(bounds("day", "Pacific/Apia", "2011-12-30T09:59Z")[0], "2011-12-29");
    assert.deepEqual(bounds("day", "Pacific/Apia", "2011-12-30T10:00Z")[0], "2011-12-31");
    assert.equal(periodById("day", "Pacific/Apia", "2011-12-30"), null);
  });

  it("of a week is an ISO week, which belongs to the year of its Thursday", () => {
    const table: [instant: string, id: string, from: string][] = [
      ["2026-11-21T12:00Z", "2026-W47", "2026-11-16T00:00"],
      ["2026-01-01T00:00Z", "2026-W01", "2025-12-29T00:00"],
      ["2025-12-29T00:00Z", "2026-W01", "2025-12-29T00:00"],
      ["2027-01-03T23:59Z", "2026-W53", "2026-12-28T00:00"],
      ["2024-12-30T00:00Z", "2025-W01", "2024-12-30T00:00"],
      ["2022-01-02T00:00Z", "2021-W52", "2021-12-27T00:00"],
    ];
    for (const [instant, id, from] of table) {
      assert.deepEqual(bounds("week", "UTC", instant).slice(0, 2), [id, from], instant);
    }
  });

  it("of a month or year begins with its first day, leap days included", () => {
    assert.deepEqual(bounds("month", "Europe/Berlin", "2028-02-29T22:59Z"), [
      "2028-02",
      "2028-01-31T23:00",
      "2028-02-29T23:00",
    ]);
    assert.equal(bounds("month", "Europe/Berlin", "2028-02-29T23:00Z")[0], "2028-03");
    assert.equal(bounds("month", "UTC", "2027-02-28T23:59Z")[2], "2027-03-01T00:00");
    assert.deepEqual(bounds("year", "America/St_Johns", "2027-01-01T03:29Z"), [
      "2026",
      "2026-01-01T03:30",
      "2027-01-01T03:30",
    ]);
  });

  it("knows instants before 1970, and refuses those that no date names and zones that do not exist", () => {
    assert.deepEqual(bounds("day", "UTC", "1969-12-31T23:59:59.999Z")[0], "1969-12-31");
    assert.equal(periodOf("week", "UTC", -1).index, 0);
    assert.throws(() => periodOf("day", "UTC", 9e15), RangeError);
    assert.throws(() => periodOf("day", "Mars/Olympus", 0), RangeError);
  });
});

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/St_Johns",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "America/Havana",
];

describe("the periods of a unit and zone", () => {
  it("follow each other without a gap, hold the instants they are asked for, and count up by one", () => {
    const random = createRandom(11);
    for (let run = 0; run < 1_500; run++) {
      const zone = random.pick(zones);
      const unit = random.pick(calendarUnits);
      const instant =
        at("1990-01-01T00:00Z") + random.integer(60 * 365 * 24) * hourMs + random.integer(hourMs);
      const hint = `${unit} ${zone} ${new Date(instant).toISOString()}`;
      const period = periodOf(unit, zone, instant);
      assert.ok(period.startsAt <= instant && instant < period.endsAt, hint);
      const next = periodOf(unit, zone, period.endsAt);
      assert.deepEqual([next.startsAt, next.index], [period.endsAt, period.index + 1], hint);
      assert.deepEqual(periodOf(unit, zone, period.endsAt - 1), period, hint);
      assert.deepEqual(periodById(unit, zone, period.id), period, hint);
      assert.equal(endOfPeriod(unit, zone, instant), period.endsAt, hint);
    }
  });

  it("agree with Temporal on the date of an instant outside repeated midnights", () => {
    const random = createRandom(12);
    for (let run = 0; run < 500; run++) {
      const zone = random.pick(zones);
      const instant = at("2012-01-01T00:00Z") + random.integer(30 * 365 * 24) * hourMs;
      const date = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone).toPlainDate();
      assert.equal(periodOf("day", zone, instant).id, date.toString());
      const { yearOfWeek, weekOfYear } = date;
      assert.equal(
        periodOf("week", zone, instant).id,
        `${yearOfWeek}-W${String(weekOfYear).padStart(2, "0")}`,
      );
    }
  });

  it("are remembered up to a bound, and the same whether remembered or not", () => {
    const start = at("2026-01-01T12:00Z");
    const days = Array.from({ length: cachedPeriodsMax }, (_, day) => start + day * 24 * hourMs);
    const first = days.map(day => periodOf("day", "Asia/Tokyo", day));
    days.forEach((day, index) => {
      assert.equal(periodOf("day", "Asia/Tokyo", day), first[index], "remembered");
    });
    periodOf("day", "Asia/Tokyo", start - 24 * hourMs);
    const oldest = periodOf("day", "Asia/Tokyo", start);
    assert.notEqual(oldest, first[0], "forgotten");
    assert.deepEqual(oldest, first[0]);
  });

  it("of too many zones are forgotten together", () => {
    // Names are told apart by case here although they mean the same zone, so that there are enough of them.
    const names = Array.from({ length: cachedZonesMax }, (_, bits) => {
      const city = [..."indianapolis"].map((letter, at) =>
        (bits >> at) & 1 ? letter.toUpperCase() : letter,
      );
      return `america/${city.join("")}`;
    });
    const before = periodOf("year", "Asia/Tokyo", 0);
    assert.equal(periodOf("year", "Asia/Tokyo", 0), before);
    for (const name of names) periodOf("year", name, 0);
    assert.notEqual(periodOf("year", "Asia/Tokyo", 0), before);
  });
});

describe("the id of a period", () => {
  it("that names none finds none", () => {
    const table: [unit: CalendarUnit, id: string][] = [
      ["day", "2026-02-29"],
      ["day", "2026-13-01"],
      ["day", "2026-00-10"],
      ["day", "2026-01-00"],
      ["day", "2026-1-1"],
      ["week", "2025-W53"],
      ["week", "2026-W00"],
      ["week", "2026-W54"],
      ["week", "2026-47"],
      ["month", "2026-13"],
      ["month", "2026-00"],
      ["month", "2026-11-21"],
      ["year", "26"],
      ["day", ""],
    ];
    for (const [unit, id] of table) assert.equal(periodById(unit, "UTC", id), null, `${unit} ${id}`);
    assert.equal(periodById("week", "UTC", "2026-W53")?.startsAt, at("2026-12-28T00:00Z"));
    assert.equal(periodById("day", "UTC", "2028-02-29")?.startsAt, at("2028-02-29T00:00Z"));
  });
});

describe("a bucket", () => {
  it("of minutes or hours is counted from 1970 in elapsed time, whatever the zone", () => {
    assert.equal(bucketOf("minute", "Asia/Kathmandu", 59_999), 0);
    assert.equal(bucketOf("minute", "Asia/Kathmandu", 60_000), 1);
    assert.equal(bucketOf("hour", "America/St_Johns", hourMs - 1), 0);
    assert.equal(bucketOf("hour", "America/St_Johns", hourMs), 1);
    assert.equal(bucketOf("hour", "UTC", -1), -1);
  });

  it("of a longer unit is the index of its period", () => {
    const instant = at("2026-11-21T18:15Z");
    for (const unit of calendarUnits) {
      assert.equal(
        bucketOf(unit, "Asia/Kathmandu", instant),
        periodOf(unit, "Asia/Kathmandu", instant).index,
      );
    }
    assert.equal(bucketOf("day", "UTC", 0), 0);
    assert.equal(bucketOf("week", "UTC", at("1970-01-05T00:00Z")), 1);
    assert.equal(bucketOf("month", "UTC", 0), 1970 * 12);
    assert.equal(bucketOf("year", "UTC", 0), 1970);
    assert.deepEqual(bucketUnits, ["minute", "hour", ...calendarUnits]);
  });
});

describe("the name of a time zone", () => {
  it("is one of the IANA database and nothing else", () => {
    for (const name of ["UTC", "Europe/Berlin", "America/Argentina/Ushuaia", "Etc/GMT+5", "Asia/Kathmandu"]) {
      assert.equal(isTimeZone(name), true, name);
      periodOf("day", name, 0);
    }
    const others = [
      "",
      "Mars/Olympus",
      "+05:30",
      "05:30",
      "2026-01-01T00:00Z[Europe/Berlin]",
      " UTC",
      "UTC\n",
      "a".repeat(timeZoneCharactersMax + 1),
    ];
    for (const name of others) assert.equal(isTimeZone(name), false, name);
  });
});
