/** Random pauses between two actions of a history. */

import type { Random } from "../../../../../adapters/conformance/random.ts";
import { ModelCalendar } from "./_model_calendar.ts";
import { dayMs, hourMs } from "./_random_space.ts";

/** A pause in ms: none, minutes, hours, days, weeks at times, or until just before or after a day, week, month or year ends. */
export function randomPause(
  random: Random,
  { at, zone }: { readonly at: number; readonly zone: string },
): number {
  if (random.chance(0.15)) {
    const unit = random.pick(["day", "day", "week", "week", "month", "year"] as const);
    const untilEnd = new ModelCalendar(zone).endOf(unit, at) - at;
    if (untilEnd < 40 * dayMs) return Math.max(untilEnd + random.integer(3) - 1, 0);
  }
  if (random.chance(0.02)) return random.integer(40) * dayMs + random.integer(24) * hourMs;
  const [minutes, hours, days] = [
    random.integer(50) * 60_000,
    random.integer(20) * hourMs,
    random.integer(4) * dayMs,
  ];
  return random.pick([0, 1, minutes, minutes, hours, hours, days]);
}
