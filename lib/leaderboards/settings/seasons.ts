/**
 * The seasons of a board. Which season holds an instant follows from the schedule alone, so nothing has to happen when a
 * season ends: the season is a part of where scores are kept.
 *
 * @module
 */

import {
  addDuration,
  type CalendarUnit,
  type Duration,
  type Period,
  periodById,
  periodOf,
} from "../../calendar/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { type BoardDeclaration, keepSeasonsMax } from "./board_settings.ts";
import type { Season, SeasonSchedule, seasonAliases } from "./season_settings.ts";

/** What the seasons of a board follow from. */
export type Seasonal = Pick<BoardDeclaration, "seasons" | "graceMs" | "keepSeasons">;

type Calendar = Extract<SeasonSchedule, { timeZone: string }>;

const units: Readonly<Record<Calendar["type"], CalendarUnit>> = {
  daily: "day",
  weekly: "week",
  monthly: "month",
};

/** The season that holds an instant (Unix ms); null where there is none. */
export function seasonOf({ seasons }: Pick<Seasonal, "seasons">, at: number): Season | null {
  switch (seasons.type) {
    case "none":
      return null;
    case "explicit":
      return seasons.list.find(({ startsAt, endsAt }) => startsAt <= at && at < endsAt) ?? null;
    default:
      return seasonPeriod(seasons, at);
  }
}

/** The last season that is over at an instant (Unix ms); null where there is none. */
export function previousSeason({ seasons }: Pick<Seasonal, "seasons">, at: number): Season | null {
  switch (seasons.type) {
    case "none":
      return null;
    case "explicit":
      return seasons.list.findLast(({ endsAt }) => endsAt <= at) ?? null;
    default:
      return seasonPeriod(seasons, seasonPeriod(seasons, at).startsAt - 1);
  }
}

/** The season of an id, whenever it is; null where there is none. */
export function seasonById(seasonal: Seasonal, id: string): Season | null {
  return knownSeason(seasonal, id)?.season ?? null;
}

/** The seasons that a board keeps at an instant (Unix ms), newest first: the running one, then those that are over. */
export function listSeasons(seasonal: Seasonal, at: number): readonly Season[] {
  const kept: Season[] = [];
  let season = seasonOf(seasonal, at) ?? previousSeason(seasonal, at);
  while (season !== null && at < keptUntil(seasonal, season)) {
    kept.push(season);
    season = previousSeason(seasonal, season.startsAt);
  }
  return kept;
}

/** The instant (Unix ms) from which scores of a season are no longer taken. */
export function closesAt({ graceMs }: Pick<Seasonal, "graceMs">, { endsAt }: Season): number {
  return endsAt + graceMs;
}

/**
 * The instant (Unix ms) from which a season is no longer kept: when `keepSeasons` later ones are over, but not before it
 * is closed.
 */
export function keptUntil(seasonal: Seasonal, season: Season): number {
  return knownSeason(seasonal, season.id)?.keptUntil ?? closesAt(seasonal, season);
}

/**
 * The season that a request asks for: an id, `current`, `previous`, or without a wish the running season, else the one
 * that ended last, else the first. Null on a board without seasons.
 *
 * @param asked The parameter `season` of the query, and the time (Unix ms).
 * @throws {AppError} `validation_failed` for an id that no season has, or any on a board without seasons; `not_found`
 *   for a season that has not begun or is no longer kept, and for `current` or `previous` where there is none.
 */
export function resolveSeason(
  seasonal: Seasonal,
  { season: id, now }: { readonly season?: string | undefined; readonly now: number },
): Season | null {
  const { seasons } = seasonal;
  if (seasons.type === "none") {
    if (id === undefined) return null;
    throw unusable("Expected none, as the leaderboard has no seasons");
  }
  if (id === undefined) {
    const listed = seasons.type === "explicit" ? seasons.list[0] : undefined;
    return seasonOf(seasonal, now) ?? previousSeason(seasonal, now) ?? listed ?? null;
  }
  const season = isAlias(id) ? aliased(seasonal, id, now) : seasonById(seasonal, id);
  if (season === null) throw unusable("Expected the id of a season, current or previous");
  if (now < season.startsAt) throw absent("it has not begun");
  if (now >= keptUntil(seasonal, season)) throw absent("it is no longer kept");
  return season;
}

/**
 * The season that a score belongs to, which still takes scores. Null on a board without seasons.
 *
 * @param score When the score was reached, and the time (both Unix ms).
 * @throws {AppError} `conflict` where the season is over for longer than its grace time, or no season holds the score.
 */
export function openSeason(
  seasonal: Seasonal,
  { at, now }: { readonly at: number; readonly now: number },
): Season | null {
  if (seasonal.seasons.type === "none") return null;
  const season = seasonOf(seasonal, at);
  if (season === null) {
    throw new AppError(
      "conflict",
      "Cannot write to the leaderboard as no season of it holds the time of the score",
    );
  }
  requireOpen(seasonal, season, now);
  return season;
}

/** @throws {AppError} `conflict` where a season no longer takes scores. */
export function requireOpen(seasonal: Seasonal, season: Season | null, now: number): void {
  if (season === null || now < closesAt(seasonal, season)) return;
  const ended = new Date(season.endsAt).toISOString();
  throw new AppError(
    "conflict",
    `Cannot write to the leaderboard as its season ${season.id} ended at ${ended} and is closed`,
  );
}

interface KnownSeason {
  readonly season: Season;
  readonly keptUntil: number;
}

/** By declaration, whose object stays the same while the settings are unchanged: Temporal costs tens of microseconds. */
const knownSeasons = new WeakMap<Seasonal, Map<string, KnownSeason>>();

function knownSeason(seasonal: Seasonal, id: string): KnownSeason | null {
  const known = knownSeasons.get(seasonal) ?? new Map<string, KnownSeason>();
  knownSeasons.set(seasonal, known);
  const found = known.get(id) ?? computed(seasonal, id);
  if (found === null) return null;
  if (known.size > keepSeasonsMax) known.clear();
  known.set(id, found);
  return found;
}

function computed(seasonal: Seasonal, id: string): KnownSeason | null {
  const { seasons, keepSeasons } = seasonal;
  if (seasons.type === "none") return null;
  if (seasons.type === "explicit") {
    const index = seasons.list.findIndex(season => season.id === id);
    const season = seasons.list[index];
    if (season === undefined) return null;
    const replaced = seasons.list[index + keepSeasons]?.endsAt ?? Number.POSITIVE_INFINITY;
    return { season, keptUntil: Math.max(replaced, closesAt(seasonal, season)) };
  }
  const season = periodById(units[seasons.type], seasons.timeZone, id);
  if (season === null) return null;
  const later = addDuration(season.startsAt, steps(seasons, keepSeasons), seasons.timeZone);
  const replaced = seasonPeriod(seasons, later).endsAt;
  return { season, keptUntil: Math.max(replaced, closesAt(seasonal, season)) };
}

function steps({ type }: Calendar, count: number): Duration {
  if (type === "daily") return { days: count };
  return type === "weekly" ? { weeks: count } : { months: count };
}

function seasonPeriod({ type, timeZone }: Calendar, at: number): Period {
  return periodOf(units[type], timeZone, at);
}

type Alias = (typeof seasonAliases)[number];

function isAlias(id: string): id is Alias {
  return id === "current" || id === "previous";
}

function aliased(seasonal: Seasonal, alias: Alias, now: number): Season {
  const season = alias === "current" ? seasonOf(seasonal, now) : previousSeason(seasonal, now);
  if (season === null) throw absent(alias === "current" ? "none is running" : "none is over yet");
  return season;
}

function unusable(detail: string): AppError {
  return new AppError("validation_failed", "Cannot show the season of the leaderboard", {
    fields: [{ pointer: "season", detail }],
  });
}

function absent(state: string): AppError {
  return new AppError("not_found", `Cannot find the season of the leaderboard as ${state}`);
}
