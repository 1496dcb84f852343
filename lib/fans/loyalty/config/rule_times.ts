/**
 * The times at which a rule applies: from and until an instant, and at hours of the week.
 *
 * @module
 */

import * as v from "valibot";
import { dayMinutes, isTimeZone, minuteOfWeek, weekMinutes } from "../../../base/calendar/mod.ts";
import type { Immutable } from "../../../http/mod.ts";
import { instantField, nonEmptyListOf } from "./fields.ts";

const weekDays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

function clockTime(pattern: RegExp, expectation: string) {
  return v.pipe(v.string(), v.regex(pattern, expectation));
}

const hours = v.pipe(
  v.strictObject({
    days: v.pipe(v.array(v.picklist(weekDays)), v.minLength(1), v.maxLength(weekDays.length)),
    from: v.optional(clockTime(/^([01]\d|2[0-3]):[0-5]\d$/, "Expected a time from 00:00 to 23:59"), "00:00"),
    /** Exclusive. A time before `from` is one of the next day. */
    to: v.optional(
      clockTime(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, "Expected a time from 00:00 to 24:00"),
      "24:00",
    ),
  }),
  v.check(({ from, to }) => from !== to, "Expected from and to to differ"),
);

/** The members of a rule that say when it applies. */
export const ruleTimeFields = {
  /** `from` and `to` in Unix seconds. `to` is exclusive, and 0 means without end. */
  time: v.exactOptional(
    v.pipe(
      v.strictObject({ from: instantField, to: instantField }),
      v.check(({ from, to }) => to === 0 || from < to, "Expected from before to"),
    ),
  ),
  /** The hours of each week; the rule applies in any of them. */
  schedule: v.exactOptional(
    v.strictObject({
      /** @default the time zone of the document */
      timeZone: v.exactOptional(v.pipe(v.string(), v.check(isTimeZone, "Expected an IANA time zone"))),
      weekly: nonEmptyListOf("RuleSchedule", hours),
    }),
  ),
};

const ruleTimes = v.object(ruleTimeFields);
type RuleTimes = Immutable<v.InferOutput<typeof ruleTimes>>;

/** A time that a rule needs, for dry runs: the member that is not met, and what it expects. */
export interface TimeFault {
  readonly member: "time" | "schedule";
  readonly expected: string;
}

/** Compiles the times of a rule to a function that explains why it does not apply at a time (Unix ms); null where it always does. */
export function compileTimes(
  { time, schedule }: RuleTimes,
  timeZone: string,
): ((at: number) => TimeFault | null) | null {
  if (time === undefined && schedule === undefined) return null;
  const from = (time?.from ?? 0) * 1_000;
  const to = time === undefined || time.to === 0 ? Number.POSITIVE_INFINITY : time.to * 1_000;
  const isScheduled = schedule === undefined ? null : compileSchedule(schedule, timeZone);
  return at => {
    if (at < from || at >= to) return { member: "time", expected: "a time from `from` to before `to`" };
    if (isScheduled?.(at) === false) return { member: "schedule", expected: "a time of the weekly schedule" };
    return null;
  };
}

function compileSchedule(
  { weekly, timeZone: own }: NonNullable<RuleTimes["schedule"]>,
  timeZone: string,
): (at: number) => boolean {
  const zone = own ?? timeZone;
  const spans = weekly.flatMap(({ days, from, to }) => {
    const length = (minutesOf(to) - minutesOf(from) + dayMinutes) % dayMinutes || dayMinutes;
    return days.map(day => ({ start: weekDays.indexOf(day) * dayMinutes + minutesOf(from), length }));
  });
  return at => {
    const minute = minuteOfWeek(at, zone);
    return spans.some(({ start, length }) => (minute - start + weekMinutes) % weekMinutes < length);
  };
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}
