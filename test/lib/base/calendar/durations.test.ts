import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Temporal } from "temporal-polyfill";
import { createRandom } from "../../../../adapters/conformance/random.ts";
import { addDuration, type Duration } from "../../../../lib/base/calendar/mod.ts";

function sum(start: string, duration: Duration, zone = "UTC"): string {
  return new Date(addDuration(Date.parse(start), duration, zone)).toISOString().slice(0, 16);
}

describe("a duration", () => {
  it("of minutes and hours is elapsed time, also across a change of clocks", () => {
    assert.equal(sum("2026-03-28T23:30Z", { hours: 24 }, "Europe/Berlin"), "2026-03-29T23:30");
    assert.equal(sum("2026-11-01T05:30Z", { minutes: 90 }, "America/New_York"), "2026-11-01T07:00");
    assert.equal(addDuration(0.5, { minutes: 1 }, "UTC"), 60_000.5);
  });

  it("of days keeps the wall clock time of its zone", () => {
    const table: [zone: string, start: string, days: number, end: string][] = [
      ["Europe/Berlin", "2026-03-28T19:00Z", 1, "2026-03-29T18:00"],
      ["Europe/Berlin", "2026-10-24T18:00Z", 1, "2026-10-25T19:00"],
      ["America/St_Johns", "2026-03-07T15:00Z", 1, "2026-03-08T14:00"],
      ["America/St_Johns", "2026-10-31T14:00Z", 1, "2026-11-01T15:00"],
      ["Asia/Kathmandu", "2026-03-28T19:00Z", 1, "2026-03-29T19:00"],
      ["Australia/Lord_Howe", "2026-10-03T01:00Z", 1, "2026-10-04T00:30"],
      ["UTC", "2028-02-28T12:00Z", 2, "2028-03-01T12:00"],
    ];
    for (const [zone, start, days, end] of table) assert.equal(sum(start, { days }, zone), end, zone);
    assert.equal(sum("2026-03-28T19:00Z", { weeks: 1 }, "Europe/Berlin"), "2026-04-04T18:00");
  });

  it("that ends in a gap moves on by its length, and in a repeated hour takes the first", () => {
    assert.equal(sum("2026-03-28T01:30Z", { days: 1 }, "Europe/Berlin"), "2026-03-29T01:30");
    assert.equal(sum("2026-10-24T00:30Z", { days: 1 }, "Europe/Berlin"), "2026-10-25T00:30");
  });

  it("of months and years ends with the month's last day where the day is missing", () => {
    assert.equal(sum("2026-01-31T10:00Z", { months: 1 }), "2026-02-28T10:00");
    assert.equal(sum("2028-01-31T10:00Z", { months: 1 }), "2028-02-29T10:00");
    assert.equal(sum("2026-08-31T10:00Z", { months: 1 }), "2026-09-30T10:00");
    assert.equal(sum("2028-02-29T10:00Z", { years: 1 }), "2029-02-28T10:00");
    assert.equal(sum("2028-02-29T10:00Z", { years: 4 }), "2032-02-29T10:00");
  });

  it("adds all of its members, the calendar's first", () => {
    const all = { years: 1, months: 1, weeks: 1, days: 1, hours: 1, minutes: 1 };
    assert.equal(sum("2026-01-31T10:00Z", all), "2027-03-08T11:01");
    assert.equal(sum("2026-03-28T19:00Z", { days: 1, hours: 1 }, "Europe/Berlin"), "2026-03-29T19:00");
  });

  it("of nothing changes nothing, and keeps parts of milliseconds", () => {
    assert.equal(addDuration(1.25, {}, "UTC"), 1.25);
    assert.equal(addDuration(1.25, { days: 1 }, "UTC"), 86_400_001.25);
  });

  it("agrees with Temporal in every zone", () => {
    const random = createRandom(13);
    const zones = Intl.supportedValuesOf("timeZone");
    for (let run = 0; run < 1_000; run++) {
      const zone = random.pick(zones);
      const start = Date.parse("1900-01-01T00:00Z") + random.integer(150 * 365 * 24 * 60) * 60_000;
      const duration = {
        days: random.integer(40),
        weeks: random.integer(3),
        months: random.integer(20),
        years: 1 + random.integer(4),
      };
      const end = Temporal.Instant.fromEpochMilliseconds(start).toZonedDateTimeISO(zone).add(duration);
      const hint = `${zone} ${new Date(start).toISOString()} ${JSON.stringify(duration)}`;
      assert.equal(addDuration(start, duration, zone), end.epochMilliseconds, hint);
    }
  });

  it("refuses a zone that does not exist", () => {
    assert.throws(() => addDuration(0, { days: 1 }, "Mars/Olympus"), RangeError);
  });
});
