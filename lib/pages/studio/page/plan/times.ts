/** Lengths of time as people type them. */

/** Returns the seconds of `90`, `1:30` or `1:02:03`, with a sign or without; null: it is none of these. */
export function secondsOf(text: string): number | null {
  const [, sign, hours, minutes, seconds] =
    /^\s*([+\-−]?)\s*(?:(?:(\d{1,4}):)?(\d{1,4}):)?(\d{1,8})\s*$/.exec(text) ?? [];
  if (seconds === undefined) return null;
  if (minutes !== undefined && (Number(seconds) > 59 || (hours !== undefined && Number(minutes) > 59)))
    return null;
  const length = Number(hours ?? 0) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds);
  return sign === "-" || sign === "−" ? -length : length;
}
