/** The calendar of the naive model: every answer is asked of Temporal. */

import { Temporal } from "temporal-polyfill";
import type { Unit } from "./_random_space.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A time zone in which the model counts. */
export class ModelCalendar {
  readonly #zone: string;
  /** Days by which weeks begin before Monday. */
  readonly #weekShift: number;
  readonly #dates = new Map<number, Temporal.PlainDate>();

  constructor(zone: string, weekStartsOn: "monday" | "sunday" = "monday") {
    this.#zone = zone;
    this.#weekShift = weekStartsOn === "sunday" ? 1 : 0;
  }

  /** A number that is one higher in the next minute, hour, day and so on. */
  step(unit: Unit, at: number): number {
    if (unit === "minute") return Math.floor(at / minuteMs);
    if (unit === "hour") return Math.floor(at / hourMs);
    const { year, month, day } = this.#date(at);
    const days = Date.UTC(year, month - 1, day) / dayMs;
    if (unit === "day") return days;
    // The first day of 1970 was a Thursday.
    if (unit === "week") return Math.floor((days + 3 + this.#weekShift) / 7);
    return unit === "month" ? year * 12 + month : year;
  }

  /** Returns the name of a day, week or month, such as `2028-02-29`, `2028-W09` or `2028-02`. */
  name(unit: "day" | "week" | "month", at: number): string {
    const date = this.#date(at);
    if (unit === "week") return `${date.yearOfWeek}-W${String(date.weekOfYear).padStart(2, "0")}`;
    return unit === "day" ? date.toString() : date.toPlainYearMonth().toString();
  }

  /** When a day, week, month or year ends. */
  endOf(unit: CalendarUnit, at: number): number {
    const date = this.#date(at);
    const first = {
      day: date,
      week: date.subtract({ days: (date.dayOfWeek - 1 + this.#weekShift) % 7 }),
      month: date.with({ day: 1 }),
      year: date.with({ month: 1, day: 1 }),
    }[unit];
    return first.add({ [`${unit}s`]: 1 }).toZonedDateTime({ timeZone: this.#zone }).epochMilliseconds;
  }

  /** A moment that is later by some days, months and so on of the zone. */
  later(at: number, duration: ModelDuration): number {
    return Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(this.#zone).add(duration)
      .epochMilliseconds;
  }

  #date(at: number): Temporal.PlainDate {
    const date =
      this.#dates.get(at) ??
      Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(this.#zone).toPlainDate();
    this.#dates.set(at, date);
    return date;
  }
}

/** A unit that a calendar has. */
export type CalendarUnit = "day" | "week" | "month" | "year";

/** As a configuration writes it. */
export type ModelDuration = Readonly<Partial<Record<"hours" | "days" | "weeks" | "months", number>>>;
