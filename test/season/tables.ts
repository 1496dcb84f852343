/** The expected tables of a season, by plain counting and sorting: nothing of the platform is used here. */

import { pointsOf, type Report } from "./predictions.ts";

/** A row as the leaderboard API shows it. */
export interface Row {
  readonly rank: number;
  readonly score: number;
  readonly userId: string;
  readonly publicProfile: { readonly username: string };
}

/** A fan, as tables name one. */
export interface Named {
  readonly userId: string;
  readonly username: string;
}

/** The score of a fan so far. */
export interface Earned {
  readonly score: number;
  /** When the score was reached, Unix ms. */
  readonly at: number;
  /** Number of reports that earned something. */
  readonly times: number;
}

/** Counts what reports earn, over the season and by matchday. */
export class Tables {
  readonly overall: Map<number, Earned> = new Map();
  readonly rounds: Map<number, Map<number, Earned>> = new Map();
  /** Reports with an effect, those that earn nothing included. */
  reports = 0;

  /** Counts one report, once, in the order of time. */
  count({ fan, match, outcome, at }: Report): void {
    this.reports += 1;
    const points = pointsOf[outcome];
    if (points === 0) return;
    const round = this.rounds.get(match.matchday) ?? new Map<number, Earned>();
    this.rounds.set(match.matchday, round);
    for (const table of [this.overall, round]) {
      const { score = 0, times = 0 } = table.get(fan) ?? {};
      table.set(fan, { score: score + points, at, times: times + 1 });
    }
  }
}

/** The rows of a table: best score first, then the first to reach it, then the user id by bytes; ranks "1224". */
export function rowsOf(earned: ReadonlyMap<number, Earned>, fans: readonly Named[]): readonly Row[] {
  const lines = [...earned].map(([index, { score, at }]) => ({ score, at, fan: fans[index] ?? unknown }));
  lines.sort(
    (a, b) =>
      b.score - a.score ||
      a.at - b.at ||
      Buffer.compare(Buffer.from(a.fan.userId), Buffer.from(b.fan.userId)),
  );
  return lines.map(({ score, fan: { userId, username } }) => {
    const rank = 1 + lines.findIndex(line => line.score === score);
    return { rank, score, userId, publicProfile: { username } };
  });
}

const unknown: Named = { userId: "", username: "" };
