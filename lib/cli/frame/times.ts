const units = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** Writes an ISO 8601 time as a distance from now, such as `in 2 h` or `3 d ago`. */
export function relativeTime(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1_000;
  if (!Number.isFinite(seconds)) return iso;
  const distance = Math.abs(seconds);
  const [unit, size] = units.find(([, length]) => distance >= length) ?? ["s", 1];
  const count = Math.floor(distance / size);
  if (count === 0) return "now";
  return seconds > 0 ? `in ${count} ${unit}` : `${count} ${unit} ago`;
}

/** Writes Unix seconds as an ISO 8601 time in UTC; null stays null. */
export function isoTime(unixSeconds: number): string;
export function isoTime(unixSeconds: number | null): string | null;
export function isoTime(unixSeconds: number | null): string | null {
  return unixSeconds === null ? null : new Date(unixSeconds * 1_000).toISOString();
}
