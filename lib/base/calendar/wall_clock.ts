/**
 * Dates and wall clock times of time zones.
 *
 * A date is the Unix ms of its midnight in UTC, and a wall clock time is the Unix ms at which UTC shows it, so that the
 * calendar is arithmetic of numbers over the offsets that Intl knows. A polyfill of Temporal would add 17 KB to every
 * bundle and a sixth to the time of an import; the tests compare with it.
 *
 * @module
 */

/** Milliseconds of a day of 24 hours. */
export const dayMs = 86_400_000;

const formatsKeptMax = 600;
const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns a date; days and months that are too many count on into the next month or year. */
export function dateOf(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

/** Returns the date that holds a wall clock time. */
export function dateOfWall(wall: number): number {
  return Math.floor(wall / dayMs) * dayMs;
}

/**
 * Returns the wall clock time of an instant.
 *
 * @throws {RangeError} For a time zone that the runtime does not know, or an instant that no date names.
 */
export function wallClock(at: number, timeZone: string): number {
  return at + offsetAt(at, timeZone);
}

/**
 * Returns the instant of a wall clock time: the first of two, and one moved by the length of the gap if there is none.
 *
 * @throws {RangeError} As {@linkcode wallClock} does.
 */
export function instantOfWall(wall: number, timeZone: string): number {
  const { first, before } = candidates(wall, timeZone);
  return first ?? wall - before;
}

/**
 * Returns the first instant of a date, or the end of the gap that holds its midnight.
 *
 * @throws {RangeError} As {@linkcode wallClock} does.
 */
export function startOfDate(date: number, timeZone: string): number {
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
