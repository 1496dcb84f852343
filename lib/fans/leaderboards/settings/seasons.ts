/**
 * The seasons of a board. The schedule alone says which season contains an instant, so no work runs when a season ends:
 * the season is part of the partition that stores the scores.
 */

import {
  addDuration,
  type CalendarUnit,
  type Duration,
  isoTime,
  type Period,
  periodById,
  periodOf,
} from "../../../base/calendar/mod.ts";
import { AppError, invalidField } from "../../../base/errors/mod.ts";
import { type BoardDeclaration, keepSeasonsMax, type Season, type SeasonSchedule } from "./board_settings.ts";

/** The settings from which the seasons of a board follow. */
export type SeasonRules = Pick<BoardDeclaration, "seasons" | "graceMs" | "keepSeasons">;

export interface SeasonQuery {
  /** Unix ms. */
  readonly now: number;
  /** An id, `current` or `previous`. @default the running season, else the one that ended last, else the first */
  readonly season?: string | undefined;
  /** The time of a score to write (Unix ms): selects the season that contains it, if it still accepts scores. */
  readonly at?: number;
}

type CalendarSchedule = Extract<SeasonSchedule, { timeZone: string }>;

const units: Readonly<Record<CalendarSchedule["type"], CalendarUnit>> = {
  daily: "day",
  weekly: "week",
  monthly: "month",
};

/** Returns the season that contains an instant (Unix ms), or null. */
export function seasonAt({ seasons }: Pick<SeasonRules, "seasons">, at: number): Season | null {
  switch (seasons.type) {
    case "none":
      return null;
    case "explicit":
      return seasons.list.find(({ startsAt, endsAt }) => startsAt <= at && at < endsAt) ?? null;
    default:
      return seasonPeriod(seasons, at);
  }
}

/** Returns the last season that has ended at an instant (Unix ms), or null. */
export function previousSeason({ seasons }: Pick<SeasonRules, "seasons">, at: number): Season | null {
  switch (seasons.type) {
    case "none":
      return null;
    case "explicit":
      return seasons.list.findLast(({ endsAt }) => endsAt <= at) ?? null;
    default:
      return seasonPeriod(seasons, seasonPeriod(seasons, at).startsAt - 1);
  }
}

/** Returns the season with an id, past or future, or null. */
export function seasonById(rules: SeasonRules, id: string): Season | null {
  return keptSeason(rules, id)?.season ?? null;
}

/** Lists the seasons that a board keeps at an instant (Unix ms), newest first. */
export function listSeasons(rules: SeasonRules, at: number): readonly Season[] {
  const seasons: Season[] = [];
  let season = seasonAt(rules, at) ?? previousSeason(rules, at);
  while (season !== null && at < keptUntil(rules, season)) {
    seasons.push(season);
    season = previousSeason(rules, season.startsAt);
  }
  return seasons;
}

/** Returns the instant (Unix ms) from which a season no longer accepts scores. */
export function closesAt({ graceMs }: Pick<SeasonRules, "graceMs">, { endsAt }: Season): number {
  return endsAt + graceMs;
}

/** Returns the instant (Unix ms) from which a closed season may be removed, as `keepSeasons` later ones have ended. */
export function keptUntil(rules: SeasonRules, season: Season): number {
  return keptSeason(rules, season.id)?.keptUntil ?? closesAt(rules, season);
}

/**
 * Returns the season that a query selects, or null on a board without seasons.
 *
 * @throws {AppError} `validation_failed`: no season has the id, or the board has no seasons. `not_found`: the season has not
 *   begun or is no longer kept. `conflict`: no season contains the time of a score, or that season is closed.
 */
export function selectSeason(rules: SeasonRules, { now, season: id, at }: SeasonQuery): Season | null {
  if (at !== undefined) return openSeason(rules, at, now);
  const { seasons } = rules;
  if (seasons.type === "none") {
    if (id === undefined) return null;
    throw invalidSeason("Expected none, as the leaderboard has no seasons");
  }
  if (id === undefined) {
    const first = seasons.type === "explicit" ? seasons.list[0] : undefined;
    return seasonAt(rules, now) ?? previousSeason(rules, now) ?? first ?? null;
  }
  if (id === "current") return seasonAt(rules, now) ?? notFound("none is running");
  const season =
    id === "previous" ? (previousSeason(rules, now) ?? notFound("none is over yet")) : seasonById(rules, id);
  if (season === null) throw invalidSeason("Expected the id of a season, current or previous");
  if (now < season.startsAt) return notFound("it has not begun");
  if (now >= keptUntil(rules, season)) return notFound("it is no longer kept");
  return season;
}

function openSeason(rules: SeasonRules, at: number, now: number): Season | null {
  if (rules.seasons.type === "none") return null;
  const season = seasonAt(rules, at);
  if (season !== null) return requireOpen(rules, season, now);
  throw new AppError(
    "conflict",
    "Cannot write to the leaderboard as no season of it holds the time of the score",
  );
}

/** @throws {AppError} `conflict`: the season no longer accepts scores. */
export function requireOpen(rules: SeasonRules, season: Season | null, now: number): Season | null {
  if (season === null || now < closesAt(rules, season)) return season;
  const ended = isoTime(season.endsAt);
  throw new AppError(
    "conflict",
    `Cannot write to the leaderboard as its season ${season.id} ended at ${ended} and is closed`,
  );
}

interface KeptSeason {
  readonly season: Season;
  readonly keptUntil: number;
}

/** Keyed by the declaration, which lives as long as the settings are unchanged: the calendar takes tens of microseconds. */
const keptSeasons = new WeakMap<SeasonRules, Map<string, KeptSeason>>();

function keptSeason(rules: SeasonRules, id: string): KeptSeason | null {
  const cached = keptSeasons.get(rules) ?? new Map<string, KeptSeason>();
  keptSeasons.set(rules, cached);
  const found = cached.get(id) ?? computeSeason(rules, id);
  if (found === null) return null;
  if (cached.size > keepSeasonsMax) cached.clear();
  cached.set(id, found);
  return found;
}

function computeSeason(rules: SeasonRules, id: string): KeptSeason | null {
  const { seasons, keepSeasons } = rules;
  if (seasons.type === "none") return null;
  if (seasons.type === "explicit") {
    const index = seasons.list.findIndex(season => season.id === id);
    const season = seasons.list[index];
    if (season === undefined) return null;
    const replacedAt = seasons.list[index + keepSeasons]?.endsAt ?? Number.POSITIVE_INFINITY;
    return { season, keptUntil: Math.max(replacedAt, closesAt(rules, season)) };
  }
  const season = periodById(units[seasons.type], seasons.timeZone, id);
  if (season === null) return null;
  const later = addDuration(season.startsAt, durationOf(seasons, keepSeasons), seasons.timeZone);
  const replacedAt = seasonPeriod(seasons, later).endsAt;
  return { season, keptUntil: Math.max(replacedAt, closesAt(rules, season)) };
}

function durationOf({ type }: CalendarSchedule, count: number): Duration {
  if (type === "daily") return { days: count };
  return type === "weekly" ? { weeks: count } : { months: count };
}

function seasonPeriod({ type, timeZone }: CalendarSchedule, at: number): Period {
  return periodOf(units[type], timeZone, at);
}

function invalidSeason(detail: string): AppError {
  return invalidField("Cannot show the season of the leaderboard", "season", detail);
}

function notFound(state: string): never {
  throw new AppError("not_found", `Cannot find the season of the leaderboard as ${state}`);
}
