/** Texts for people and programs: without control characters, as YAML, and times. */

/** Writes JSON in which control and direction characters are escaped, so that it cannot control the terminal either. */
export function cleanJson(value: unknown, indent?: number): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, null, indent).replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, one =>
    one.replace(/./gs, escaped),
  );
}

/**
 * Replaces control and direction characters, with which text of a server could control the terminal. The joiners of emoji and of
 * scripts such as Persian stay.
 */
export function clean(text: string): string {
  return text.replace(/(?:(?![\u200c\u200d])[\p{Cc}\p{Cf}])+/gu, " ");
}

/** Writes YAML that tools of version 1.1 read alike: they take `Yes`, `no` and `2024-01-01` without quotes for other values. */
export async function yamlText(value: unknown): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify(value, { lineWidth: 0, compat: "yaml-1.1" });
}

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
