/** The actions of fans in a season of rewards, generated before any is sent. */

import type { Random } from "../../adapters/conformance/random.ts";
import type { Match } from "./fixtures.ts";
import { eventId } from "./league.ts";

/** An action of a fan. */
export interface FanAction {
  readonly id: string;
  /** Index of the fan. */
  readonly fan: number;
  readonly action: "arrival" | "prediction" | "purchase";
  readonly data: Readonly<Record<string, string>>;
  /** Unix ms; increases with each action of a fan. */
  readonly at: number;
}

/** Matches that end at the same time, with the actions of fans. */
export interface Round {
  /** Unix ms, before all actions of the round. */
  readonly at: number;
  /** Sent one after the other, in this order. */
  readonly arrivals: readonly FanAction[];
  /** Fan by fan, each in the order of time. */
  readonly byFan: readonly (readonly FanAction[])[];
}

const playedMs = 2 * 60 * 60 * 1_000;
/** Arrivals come first, a few ms apart. */
const predictionsAfterMs = 5_000;
const outcomes = ["exact", "exact", "right", "right", "right", "wrong", "wrong", "wrong", "wrong"] as const;

/** Returns the rounds of a season in the order of time. */
export function roundsOf(matches: readonly Match[], random: Random, fans: number): readonly Round[] {
  const kickOffs = [...new Set(matches.map(({ kickOff }) => kickOff))].sort((a, b) => a - b);
  return kickOffs.map(kickOff => {
    const at = kickOff + playedMs;
    const together = matches.filter(match => match.kickOff === kickOff);
    const arriving = Array.from({ length: fans }, (_, fan) => fan).filter(() => random.chance(0.3));
    const arrivals = shuffled(arriving, random).map(
      (fan, n): FanAction => ({ id: `arrival ${at}`, fan, action: "arrival", data: {}, at: at + n }),
    );
    const byFan = Array.from({ length: fans }, (_, fan) => actionsOf({ fan, at, matches: together }, random));
    return { at, arrivals, byFan };
  });
}

/** Returns a fan's actions of a round. Fans are away for whole months, so that streaks break and challenges never begin. */
function actionsOf(
  { fan, at, matches }: { readonly fan: number; readonly at: number; readonly matches: readonly Match[] },
  random: Random,
): readonly FanAction[] {
  if ((fan + new Date(at).getUTCMonth()) % 7 === 0) return [];
  const actions: FanAction[] = [];
  let time = at + predictionsAfterMs + random.integer(100);
  for (const { id: match, matchday } of matches) {
    if (random.chance(0.15)) continue;
    const data = { eventId: eventId(matchday), match, outcome: random.pick(outcomes) };
    actions.push({ id: match, fan, action: "prediction", data, at: time });
    // Some fans share a millisecond, so that tables are in the order of user ids there.
    time += 1 + random.integer(3);
  }
  if (random.chance(0.1)) actions.push({ id: `purchase ${at}`, fan, action: "purchase", data: {}, at: time });
  return actions;
}

function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(random.integer(left.length), 1));
}

/** Returns invented matches around the leap day, both clock changes and the turn of a year. */
export function madeUpMatches(): readonly Match[] {
  const parts = [
    ["2028-02-19T12:30:00Z", 22],
    ["2028-10-14T20:30:00Z", 15],
    ["2028-12-20T21:45:00Z", 9],
  ] as const;
  const halfWeekMs = 3.5 * 86_400_000;
  return parts.flatMap(([from, count], part) =>
    Array.from({ length: count * 3 }, (_, n): Match => {
      const slot = Math.floor(n / 3);
      return {
        id: `Home ${part}.${n} - Away ${part}.${n}`,
        matchday: 1 + part * 10 + Math.floor(slot / 3),
        kickOff: Date.parse(from) + slot * halfWeekMs,
        goals: [0, 0],
      };
    }),
  );
}
