/** A real league season: its matches, and the times at which fans report the results of their predictions. */

import { readFileSync } from "node:fs";

/** A match that has been played. */
export interface Match {
  readonly id: string;
  /** From 1. */
  readonly matchday: number;
  /** Unix ms. */
  readonly kickOff: number;
  /** Goals of the home team and of the guests. */
  readonly goals: readonly [number, number];
}

/** Matches that kicked off together, and are reported together. */
export interface Slot {
  /** Unix ms from which fans report. */
  readonly at: number;
  readonly matches: readonly Match[];
}

/** Longest match with its break, in ms: nothing is reported earlier after the last kick-off. */
const matchMs = 2 * 60 * 60 * 1_000;
/** Time between the reports of two slots, in ms: all of some days in a row fit into the life of a token. */
const slotGapMs = 3_000;
const dayMs = 24 * 60 * 60 * 1_000;

interface FileMatch {
  readonly round: string;
  readonly date: string;
  readonly time: string;
  readonly team1: string;
  readonly team2: string;
  readonly score: { readonly ft: readonly [number, number] };
}

/** Reads a season of openfootball's JSON files, in the order of kick-off. */
export function readSeason(path: string): readonly Match[] {
  const { matches } = JSON.parse(readFileSync(path, "utf8")) as { readonly matches: readonly FileMatch[] };
  return matches
    .map(({ round, date, time, team1, team2, score }) => ({
      id: `${team1} - ${team2}`,
      matchday: Number(round.replace("Matchday ", "")),
      kickOff: Date.parse(`${date}T${time}:00Z`),
      goals: score.ft,
    }))
    .sort((a, b) => a.kickOff - b.kickOff);
}

/** The slots of the matches, in the order of their time. Days in a row with matches are reported together, in the end. */
export function slotsOf(matches: readonly Match[]): readonly Slot[] {
  const slots: Slot[] = [];
  for (const weekend of split(matches, (a, b) => b.kickOff - a.kickOff > dayMs)) {
    const begin = (weekend.at(-1)?.kickOff ?? 0) + matchMs;
    for (const [index, together] of split(weekend, (a, b) => a.kickOff !== b.kickOff).entries()) {
      slots.push({ at: begin + index * slotGapMs, matches: together });
    }
  }
  return slots;
}

/** Splits a list between neighbours that are apart. */
function split<T>(
  items: readonly T[],
  areApart: (before: T, after: T) => boolean,
): readonly (readonly T[])[] {
  const parts: T[][] = [];
  let before: T | undefined;
  for (const item of items) {
    if (before === undefined || areApart(before, item)) parts.push([]);
    parts.at(-1)?.push(item);
    before = item;
  }
  return parts;
}
