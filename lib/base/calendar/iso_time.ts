/**
 * Instants as ISO 8601 text.
 *
 * `isoTime` formats by hand because `Date.prototype.toISOString` takes five to eight times as long: exports and lists of users
 * are full of times, and the difference is 10 % of an export.
 *
 * @module
 */

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const minuteMs = 60_000;
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
/** What an instant of settings must be. */
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
