/** Weeks of a zone with the events of a project, also where the clock changes. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { overlapsOf, weekOf } from "../../../../lib/pages/studio/page/plan/calendar.ts";

const zone = "Europe/Berlin";
const event = (id: string, begin: string | null, minutes = 60, state = "future") => ({
  type: "events",
  id,
  attributes: {
    state,
    duration: minutes * 60,
    ...(begin !== null && { start_at: Date.parse(begin) / 1_000 }),
  },
});
const idsOf = (events: readonly { readonly id: string }[]): string => events.map(({ id }) => id).join();

describe("the week of a zone", () => {
  it("begins on Monday there, and has days of 23 and 25 hours", () => {
    const spring = weekOf(Date.parse("2026-03-29T22:30:00Z"), zone, []);
    assert.equal(spring.days[0]?.date, "2026-03-30", "it is Monday there already");
    const before = weekOf(spring.startsAt - 1, zone, []);
    assert.deepEqual(
      before.days.map(({ date, hours }) => `${date} ${hours}`),
      ["23 24", "24 24", "25 24", "26 24", "27 24", "28 24", "29 23"].map(day => `2026-03-${day}`),
    );
    assert.equal(weekOf(Date.parse("2026-10-25T12:00:00Z"), zone, []).days.at(-1)?.hours, 25);
    assert.equal(before.endsAt, spring.startsAt);
  });

  it("has an event on each day that it runs on, in order, and leaves out those by hand", () => {
    const events = [
      event("late", "2026-11-23T21:00:00Z", 180),
      event("hand", null),
      event("early", "2026-11-23T08:00:00Z"),
      // Midnight there: it is over when Tuesday begins.
      event("until", "2026-11-23T22:00:00Z", 60, "past"),
      event("open", "2026-11-24T12:00:00Z", 0, "current"),
    ];
    const { days } = weekOf(Date.parse("2026-11-25T12:00:00Z"), zone, events);
    assert.deepEqual(
      days.map(day => idsOf(day.events)),
      ["early,late,until", "late,open", "", "", "", "", ""],
    );
  });

  it("marks what overlaps among events that run or come", () => {
    const one = event("one", "2026-11-23T20:00:00Z", 120);
    const others = [event("two", "2026-11-23T21:00:00Z"), event("gone", "2026-11-23T21:00:00Z", 60, "past")];
    assert.equal(idsOf(overlapsOf(one, [one, ...others, event("after", "2026-11-23T22:00:00Z")])), "two");
  });
});
