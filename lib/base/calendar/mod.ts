/** Days, weeks, months and years in a time zone, as seasons, windows, recurrences and expiries count them. */

export const hourMs = 3_600_000;
export const minuteMs = 60_000;
/** The last instant that a Date can hold, in Unix ms. */
const timeMax = 8_640_000_000_000_000;
const timeOfDayCharacters = "00:00:00.000Z".length;

const isoShape = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** Cache of the day formatted last: a list contains few days. */
let lastDay: { readonly day: number; readonly text: string } = { day: 0, text: "1970-01-01T" };

const twoDigits: readonly string[] = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, "0"));

/**
 * Formats an instant (Unix ms) as `Date.prototype.toISOString` does.
 *
 * @throws {RangeError} The number is no instant.
 */
export function isoTime(at: number): string {
  const whole = Math.trunc(at);
  if (!(Math.abs(whole) <= timeMax)) throw new RangeError(`Cannot format ${at} as a time: expected Unix ms`);
  const day = Math.floor(whole / dayMs);
  if (day !== lastDay.day)
    lastDay = { day, text: new Date(whole).toISOString().slice(0, -timeOfDayCharacters) };
  const rest = whole - day * dayMs;
  const hours = twoDigits[Math.floor(rest / hourMs)];
  const minutes = twoDigits[Math.floor((rest % hourMs) / minuteMs)];
  const seconds = twoDigits[Math.floor((rest % minuteMs) / 1_000)];
  const ms = rest % 1_000;
  return `${lastDay.text}${hours}:${minutes}:${seconds}.${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z`;
}

/** Formats an instant as {@linkcode isoTime} does; null stays null. */
export function isoTimeOrNull(at: number | null): string | null {
  return at === null ? null : isoTime(at);
}

/** Parses a date (midnight UTC) or a time with its offset into Unix ms; null if the text is neither. */
export function parseIsoDateOrTime(text: unknown): number | null {
  const parts = typeof text === "string" ? isoShape.exec(text) : null;
  if (parts === null || typeof text !== "string") return null;
  const [year = 0, month = 0, day = 0] = parts.slice(1).map(Number);
  // Date.parse turns the 31st of a short month into a day of the next one.
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

/** The last Unix seconds that settings may name, in the year 5138, so that milliseconds are refused. */
const instantSecondsMax = 100_000_000_000;
export const instantExpectation =
  "Expected Unix seconds such as 1767225600, not milliseconds, or a time with its zone such as 2026-01-01T00:00:00Z";

/** Parses an instant of settings, Unix seconds or a time with its offset, into Unix ms; null for anything else. */
export function parseInstant(value: unknown): number | null {
  if (typeof value !== "number") return parseIsoTime(value);
  return Number.isSafeInteger(value) && value >= 0 && value <= instantSecondsMax ? value * 1_000 : null;
}

/** Parses a time with its offset into Unix ms; null for anything else, a date included. */
export function parseIsoTime(text: unknown): number | null {
  return typeof text === "string" && text.includes("T") ? parseIsoDateOrTime(text) : null;
}

export const timeZoneCharactersMax = 64;

const nameShape = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;

/**
 * Returns true if a text names a zone of the IANA time zone database that this runtime knows. Bare offsets such as
 * `+05:30`, which only some runtimes take, are no names.
 */
export function isTimeZone(text: string): boolean {
  if (text.length > timeZoneCharactersMax || !nameShape.test(text)) return false;
  const known = checked.get(text);
  if (known !== undefined) return known;
  if (checked.size >= checkedMax) checked.clear();
  const isKnown = isKnownToIntl(text);
  checked.set(text, isKnown);
  return isKnown;
}

/** Answers for names, as a look at Intl takes longer than a report of an action. */
const checked = new Map<string, boolean>();
const checkedMax = 1_000;

function isKnownToIntl(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return true;
  } catch {
    return false;
  }
}

export const dayMs = 86_400_000;

const formatsKeptMax = 600;
const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns a date; days and months that are too many count on into the next month or year. */
function dateOf(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

function dateOfWall(wall: number): number {
  return Math.floor(wall / dayMs) * dayMs;
}

/**
 * Returns the wall clock time of an instant.
 *
 * @throws {RangeError} For a time zone that the runtime does not know, or an instant that no date names.
 */
function wallClock(at: number, timeZone: string): number {
  return at + offsetAt(at, timeZone);
}

/**
 * Returns the instant of a wall clock time: the first of two, and one moved by the length of the gap if there is none.
 *
 * @throws {RangeError} As {@linkcode wallClock} does.
 */
function instantOfWall(wall: number, timeZone: string): number {
  const { first, before } = candidates(wall, timeZone);
  return first ?? wall - before;
}

/**
 * Returns the first instant of a date, or the end of the gap that holds its midnight.
 *
 * @throws {RangeError} As {@linkcode wallClock} does.
 */
function startOfDate(date: number, timeZone: string): number {
  const { first, before, after } = candidates(date, timeZone);
  if (first !== undefined) return first;
  let low = date - after;
  let high = date - before;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle, timeZone) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** Finds the first instant of a wall clock time, and the offsets a day earlier and later. */
function candidates(wall: number, timeZone: string): { first?: number; before: number; after: number } {
  const before = offsetAt(wall - dayMs, timeZone);
  const after = offsetAt(wall + dayMs, timeZone);
  // The larger offset names the earlier instant.
  for (const offset of [Math.max(before, after), Math.min(before, after)]) {
    if (offsetAt(wall - offset, timeZone) === offset) return { first: wall - offset, before, after };
  }
  return { before, after };
}

/** Returns how far a zone's clocks are ahead of UTC, in ms. */
function offsetAt(at: number, timeZone: string): number {
  const second = Math.floor(at / 1_000) * 1_000;
  const [month = 0, day = 0, ...time] = (formatOf(timeZone).format(second).match(/\d+/g) ?? []).map(Number);
  const [hours = 0, minutes = 0, seconds = 0] = time;
  const ofDay = ((hours * 60 + minutes) * 60 + seconds) * 1_000;
  // The year of the zone can be the one before or after that of UTC.
  const year = new Date(second).getUTCFullYear();
  const offset = dateOf(year, month, day) + ofDay - second;
  if (Math.abs(offset) < 2 * dayMs) return offset;
  return dateOf(offset < 0 ? year + 1 : year - 1, month, day) + ofDay - second;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const cached = formats.get(timeZone);
  if (cached !== undefined) return cached;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  if (formats.size >= formatsKeptMax) formats.clear();
  formats.set(timeZone, format);
  return format;
}

/** A duration. It has at least one member; all are added, the largest first. */
export type Duration = {
  readonly minutes?: number;
  readonly hours?: number;
  readonly days?: number;
  readonly weeks?: number;
  readonly months?: number;
  readonly years?: number;
};

/**
 * Returns the instant (Unix ms) a duration after `at`. Minutes and hours are elapsed ones. Days, weeks, months and years keep the
 * zone's wall clock time: a day without that time moves it by the length of the gap, a repeated one takes the
 * first, and a month that lacks the day ends with its last one.
 *
 * @throws {RangeError} For a time zone that the runtime does not know, or an instant that no date names.
 */
export function addDuration(at: number, duration: Duration, timeZone: string): number {
  const { minutes = 0, hours = 0, days = 0, weeks = 0, months = 0, years = 0 } = duration;
  const elapsedMs = minutes * minuteMs + hours * hourMs;
  if (days === 0 && weeks === 0 && months === 0 && years === 0) return at + elapsedMs;
  const wholeMs = Math.floor(at);
  const wall = wallClock(wholeMs, timeZone);
  const date = dateOfWall(wall);
  const target = addMonths(date, years * 12 + months) + (weeks * 7 + days) * dayMs;
  return instantOfWall(target + wall - date, timeZone) + elapsedMs + (at - wholeMs);
}

/** Moves a date by months; one that the month lacks becomes its last day. */
function addMonths(date: number, months: number): number {
  if (months === 0) return date;
  const start = new Date(date);
  const [year, month] = [start.getUTCFullYear(), start.getUTCMonth() + 1 + months];
  return Math.min(dateOf(year, month, start.getUTCDate()), dateOf(year, month + 1, 0));
}

export type CalendarUnit = "day" | "week" | "month" | "year";

export const calendarUnits: readonly CalendarUnit[] = ["day", "week", "month", "year"];

export type PeriodUnit = CalendarUnit | "sundayWeek";

export interface Period {
  /** `2026-11-21`, `2026-W47`, `2026-11` or `2026`. */
  readonly id: string;
  readonly index: number;
  /** Unix ms. */
  readonly startsAt: number;
  /** Unix ms, exclusive. */
  readonly endsAt: number;
}

/** Maximum number of time zones with cached periods; at the limit the cache is cleared. */
export const cachedZonesMax = 600;
/** Maximum number of cached periods per unit and zone; the least recently used is evicted first. */
export const cachedPeriodsMax = 8;

/** Days from Monday to Thursday, which 1970-01-01 was. */
const daysToEpochThursday = 3;

const cache: Readonly<Record<PeriodUnit, Map<string, Period[]>>> = {
  day: new Map(),
  week: new Map(),
  sundayWeek: new Map(),
  month: new Map(),
  year: new Map(),
};

/**
 * Returns the period that holds an instant (Unix ms). Costs two comparisons while instants stay within one period.
 *
 * @throws {RangeError} For a time zone that the runtime does not know, or an instant that no date names.
 */
export function periodOf(unit: PeriodUnit, timeZone: string, at: number): Period {
  const recent = cache[unit].get(timeZone);
  const last = recent?.[0];
  if (last !== undefined && at >= last.startsAt && at < last.endsAt) return last;
  return cachedPeriod(unit, timeZone, at);
}

/**
 * Returns the instant (Unix ms) at which the period that holds `at` is over.
 *
 * @throws {RangeError} As {@linkcode periodOf} does.
 */
export function endOfPeriod(unit: PeriodUnit, timeZone: string, at: number): number {
  return periodOf(unit, timeZone, at).endsAt;
}

const idShapes: Readonly<Record<CalendarUnit, RegExp>> = {
  day: /^(\d{4})-(\d{2})-(\d{2})$/,
  week: /^(\d{4})-W(\d{2})$/,
  month: /^(\d{4})-(\d{2})$/,
  year: /^(\d{4})$/,
};

/** Returns the period that an id names, or null if there is none, such as `2025-W53` or `2026-02-29`. */
export function periodById(unit: CalendarUnit, timeZone: string, id: string): Period | null {
  const [, year, second = "1", day = "1"] = idShapes[unit].exec(id) ?? [];
  if (year === undefined) return null;
  const month = unit === "week" ? 1 : Number(second);
  if (month < 1 || Number(day) < 1) return null;
  // Week 1 is the week of 4 January. Noon, because a date of the zone's own past may lack its midnight.
  const first = dateOf(Number(year), month, unit === "week" ? 4 : Number(day));
  const weeks = unit === "week" ? Number(second) - 1 : 0;
  const noon = instantOfWall(first + (weeks * 7 + 0.5) * dayMs, timeZone);
  const period = periodOf(unit, timeZone, noon);
  return period.id === id ? period : null;
}

function cachedPeriod(unit: PeriodUnit, timeZone: string, at: number): Period {
  const zones = cache[unit];
  if (zones.size >= cachedZonesMax && !zones.has(timeZone)) zones.clear();
  const recent = zones.get(timeZone) ?? [];
  const index = recent.findIndex(({ startsAt, endsAt }) => at >= startsAt && at < endsAt);
  const [found = computed(unit, timeZone, at)] = index < 0 ? [] : recent.splice(index, 1);
  recent.unshift(found);
  if (recent.length > cachedPeriodsMax) recent.pop();
  zones.set(timeZone, recent);
  return found;
}

function computed(unit: PeriodUnit, timeZone: string, at: number): Period {
  let first = firstDate(unit, dateOfWall(wallClock(Math.floor(at), timeZone)));
  let next = nextDate(unit, first);
  // Clocks that go back over midnight show the day before once more, after the next one has begun.
  if (at >= startOfDate(next, timeZone)) [first, next] = [next, nextDate(unit, next)];
  return {
    ...named(unit, first),
    startsAt: startOfDate(first, timeZone),
    endsAt: startOfDate(next, timeZone),
  };
}

function firstDate(unit: PeriodUnit, date: number): number {
  const parts = new Date(date);
  switch (unit) {
    case "day":
      return date;
    case "week":
      return date - ((parts.getUTCDay() + 6) % 7) * dayMs;
    case "sundayWeek":
      return date - parts.getUTCDay() * dayMs;
    case "month":
      return dateOf(parts.getUTCFullYear(), parts.getUTCMonth() + 1, 1);
    case "year":
      return dateOf(parts.getUTCFullYear(), 1, 1);
  }
}

function nextDate(unit: PeriodUnit, first: number): number {
  const parts = new Date(first);
  switch (unit) {
    case "day":
      return first + dayMs;
    case "week":
    case "sundayWeek":
      return first + 7 * dayMs;
    case "month":
      return dateOf(parts.getUTCFullYear(), parts.getUTCMonth() + 2, 1);
    case "year":
      return dateOf(parts.getUTCFullYear() + 1, 1, 1);
  }
}

function named(unit: PeriodUnit, first: number): Pick<Period, "id" | "index"> {
  const day = first / dayMs;
  const date = new Date(first);
  const [text = ""] = date.toISOString().split("T");
  switch (unit) {
    case "day":
      return { id: text, index: day };
    case "week": {
      // The year of an ISO week is the year of its Thursday.
      const thursday = first + 3 * dayMs;
      const year = new Date(thursday).getUTCFullYear();
      const week = Math.floor((thursday - dateOf(year, 1, 1)) / dayMs / 7) + 1;
      const id = `${year}-W${String(week).padStart(2, "0")}`;
      return { id, index: Math.floor((day + daysToEpochThursday) / 7) };
    }
    case "sundayWeek":
      return named("week", first + dayMs);
    case "month":
      return { id: text.slice(0, -3), index: date.getUTCFullYear() * 12 + date.getUTCMonth() };
    case "year":
      return { id: text.slice(0, -6), index: date.getUTCFullYear() };
  }
}

type BucketUnit = "minute" | "hour" | CalendarUnit;

/** A step that can be counted: one of a rolling window, or a week from Sunday. */
export type CountedUnit = BucketUnit | PeriodUnit;

export const bucketUnits: readonly BucketUnit[] = ["minute", "hour", ...calendarUnits];

/**
 * Returns the bucket of an instant (Unix ms), one of consecutive integers. Minutes and hours are counted from 1970 without a
 * time zone, so that no hour is repeated or skipped.
 *
 * @throws {RangeError} As `periodOf` does.
 */
export function bucketOf(unit: CountedUnit, timeZone: string, at: number): number {
  if (unit === "minute") return Math.floor(at / minuteMs);
  if (unit === "hour") return Math.floor(at / hourMs);
  return periodOf(unit, timeZone, at).index;
}

export const dayMinutes = 1_440;
export const weekMinutes: number = 7 * dayMinutes;

/** 1970 began on a Thursday, three days after the Monday with which weeks begin. */
const mondayOffsetMs = 3 * dayMs;

/**
 * Returns the minute of an instant (Unix ms) within its week, counted from Monday 00:00 by the clocks of the time zone. Minutes that
 * clocks repeat are counted alike, and minutes that they skip never occur.
 *
 * @throws {RangeError} As `periodOf` does.
 */
export function minuteOfWeek(at: number, timeZone: string): number {
  const minutes = Math.floor((wallClock(at, timeZone) + mondayOffsetMs) / 60_000);
  return ((minutes % weekMinutes) + weekMinutes) % weekMinutes;
}
