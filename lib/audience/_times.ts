/** Times as the audience API reads and writes them: ISO 8601. */

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const minuteMs = 60_000;
/** The last instant that a Date can be, in Unix ms; the first one is as far from 1970. */
const timeMax = 8_640_000_000_000_000;
const timeUnits = "00:00:00.000Z".length;

const shape = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** The day that was written last, because times that are written together are of few days. */
let lastDay: { readonly day: number; readonly text: string } = { day: 0, text: "1970-01-01T" };

const twoDigits: readonly string[] = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, "0"));

/**
 * An instant in Unix ms as ISO 8601 text in UTC, with milliseconds: that of `Date.prototype.toISOString`, which takes three
 * times as long, and lists of users are full of times.
 *
 * @throws {RangeError} There is no such time.
 */
export function isoTime(at: number): string {
  const whole = Math.trunc(at);
  if (!(Math.abs(whole) <= timeMax)) throw new RangeError(`Cannot write ${at} as a time: expected Unix ms`);
  const day = Math.floor(whole / dayMs);
  if (day !== lastDay.day) lastDay = { day, text: new Date(whole).toISOString().slice(0, -timeUnits) };
  const rest = whole - day * dayMs;
  const hours = twoDigits[Math.floor(rest / hourMs)];
  const minutes = twoDigits[Math.floor((rest % hourMs) / minuteMs)];
  const seconds = twoDigits[Math.floor((rest % minuteMs) / 1_000)];
  const ms = rest % 1_000;
  return `${lastDay.text}${hours}:${minutes}:${seconds}.${ms < 10 ? "00" : ms < 100 ? "0" : ""}${ms}Z`;
}

/** As {@linkcode isoTime}; null stays null. */
export function isoTimeOrNull(at: number | null): string | null {
  return at === null ? null : isoTime(at);
}

/** The instant (Unix ms) of a text; null where it is none. A day begins in UTC. */
export function instantOf(text: unknown): number | null {
  const parts = typeof text === "string" ? shape.exec(text) : null;
  if (parts === null || typeof text !== "string") return null;
  const [year = 0, month = 0, day = 0] = parts.slice(1).map(Number);
  // Parsers let the 31st of a short month overflow into the next one.
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

/** As {@linkcode instantOf}, for what happens at an instant: a day is none. */
export function momentOf(text: unknown): number | null {
  return typeof text === "string" && text.includes("T") ? instantOf(text) : null;
}
