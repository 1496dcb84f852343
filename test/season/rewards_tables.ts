/** The expected tables of a season of rewards, by plain counting and sorting. */

import { eventId, leagueIds } from "./league.ts";
import { type FanEnd, type Moved, monthOf, weekOf } from "./rewards_model.ts";
import { memberOf } from "./rewards_play.ts";

/** A row of a table. */
export interface RewardsRow {
  readonly rank: number;
  readonly score: number;
  readonly userId: string;
}

/** A board with the rows that it must show. */
export interface RewardsBoard {
  readonly path: string;
  /** The rest of the query. */
  readonly query: string;
  readonly rows: readonly RewardsRow[];
}

type Style = "competition" | "dense" | "ordinal";

/** Every table, those of all months and weeks included. */
export function expectedBoards(
  ends: readonly FanEnd[],
  matchdays: readonly number[],
): readonly RewardsBoard[] {
  const project = `/projects/${leagueIds.project}`;
  const onBoard = (id: string): string => `${project}/leaderboards/${id}`;
  const isPoints = ({ metric }: Moved): boolean => metric === "points";
  const isCoins = ({ metric }: Moved): boolean => metric === "coins";
  const points = ends.flatMap(({ moved }) => moved.filter(isPoints));
  const seasons = (id: string, nameOf: (at: number) => string, style: Style): readonly RewardsBoard[] =>
    [...new Set(points.map(({ at }) => nameOf(at)))].map(season => ({
      path: onBoard(id),
      query: `&season=${season}`,
      rows: rowsOf(ends, style, moved => isPoints(moved) && nameOf(moved.at) === season),
    }));
  const exacts = ends.map(({ exacts: deeds, ...end }) => ({
    ...end,
    exacts: deeds,
    moved: deeds.map(({ at }): Moved => ({ metric: "exacts", by: 1, at, event: null })),
  }));
  return [
    { path: onBoard("overall"), query: "", rows: rowsOf(ends, "competition", isPoints) },
    { path: onBoard("coins"), query: "", rows: rowsOf(ends, "ordinal", isCoins) },
    { path: onBoard("exacts"), query: "", rows: rowsOf(exacts, "competition", () => true) },
    ...seasons("monthly", monthOf, "competition"),
    ...seasons("weekly", weekOf, "dense"),
    ...matchdays.flatMap(matchday => {
      const path = `${project}/events/${eventId(matchday)}/leaderboards/`;
      const isOf = ({ event }: Moved): boolean => event === eventId(matchday);
      return [
        {
          path: `${path}round_${matchday}`,
          query: "",
          rows: rowsOf(ends, "competition", moved => isPoints(moved) && isOf(moved)),
        },
        {
          path: `${path}coins`,
          query: "",
          rows: rowsOf(ends, "dense", moved => isCoins(moved) && isOf(moved)),
        },
      ];
    }),
  ];
}

/** Fans whose score has changed: the highest sum first, then the first to reach it, then by id. */
function rowsOf(
  ends: readonly FanEnd[],
  style: Style,
  counts: (moved: Moved) => boolean,
): readonly RewardsRow[] {
  const lines = ends.flatMap(({ moved }, fan) => {
    const counted = moved.filter(counts);
    const last = counted.at(-1);
    if (last === undefined) return [];
    const score = counted.reduce((sum, { by }) => sum + by, 0);
    return [{ score, at: last.at, userId: memberOf(fan).userId }];
  });
  lines.sort((a, b) => b.score - a.score || a.at - b.at || (a.userId < b.userId ? -1 : 1));
  const scores = lines.map(({ score }) => score);
  return lines.map(({ score, userId }, index) => {
    if (style === "ordinal") return { rank: index + 1, score, userId };
    const better = scores.filter(other => other > score);
    return { rank: 1 + (style === "dense" ? new Set(better).size : better.length), score, userId };
  });
}
