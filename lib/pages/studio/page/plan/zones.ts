/** Times in the zone of a project. */

/** Returns how far a zone is ahead of UTC at an instant, in ms. */
function aheadOf(zone: string, at: number): number {
  const form = { timeZone: zone, hourCycle: "h23", dateStyle: "short", timeStyle: "medium" } as const;
  const [date = "", time = ""] = new Intl.DateTimeFormat("sv", form).format(at).split(" ");
  return Date.parse(`${date}T${time}Z`) - Math.floor(at / 1_000) * 1_000;
}

/** Returns the instant that a clock of a zone shows as `2026-11-27T20:00`, in Unix seconds. */
export function instantOf(local: string, zone: string): number {
  const utc = Date.parse(`${local.slice(0, 16)}:00Z`);
  // The second look is right where the clock changes between the two.
  const first = utc - aheadOf(zone, utc);
  return (utc - aheadOf(zone, first)) / 1_000;
}

/** Returns what a clock of a zone shows at an instant in Unix ms, as `2026-11-27T20:00`. */
export function localIn(zone: string, at: number): string {
  return new Date(at + aheadOf(zone, at)).toISOString().slice(0, 16);
}

/** Returns a time in Unix seconds as a reader of the zone knows it, with the name of the zone. */
export function timeIn(zone: string, seconds: number): string {
  const form = { dateStyle: "medium", timeStyle: "short", timeZone: zone } as const;
  return new Intl.DateTimeFormat(undefined, form).format(seconds * 1_000);
}

export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
