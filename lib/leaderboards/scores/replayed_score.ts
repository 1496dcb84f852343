/**
 * The score that a user must have on a board, worked out from what is recorded of the user alone.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { ResolvedBoard } from "../ranking/find_board.ts";
import type { BoardDeclaration } from "../settings/board_settings.ts";
import { isWithinBounds } from "./board_location.ts";
import type { Gain } from "./score_feed.ts";
import { compileWhen } from "./score_targets.ts";
import type { Earning, UserEarnings } from "./user_earnings.ts";

/** A score as the feed brings it to a board. */
export interface ReplayedScore {
  readonly score: number;
  /** When it was reached, Unix ms. */
  readonly at: number;
  /** The revision of the user's state. */
  readonly asOf: number;
}

/**
 * Prepares working out the scores of a board that is fed by what users do. The function answers null for a user who has no
 * place on the board. It is pure: the same record gives the same score.
 *
 * Where the oldest gains are no longer recorded, a board that sums them counts the others alone, and so does an event's
 * board where an action named its event by an alias, as no record says which event that was.
 *
 * @throws {AppError} `conflict` for a board that back ends write to: there is nothing it could be worked out from.
 */
export function replayScores(board: ResolvedBoard): (user: UserEarnings) => ReplayedScore | null {
  const { declaration, project, event, season } = board;
  const amount = amountOf(declaration);
  const { source } = declaration;
  const total = source.type === "metric" && event === null && season === null ? source.metricId : null;
  return user => {
    if (user.projectId !== project.id) return null;
    const counted = user.earnings.filter(earning => isOn(board, earning));
    const steps = counted.map(({ gain, at }) => ({ at, by: amount(gain) })).filter(({ by }) => by !== 0);
    const start = total === null ? 0 : startOf(user, total, steps);
    if (start === null) return null;
    const { changedAt: at } = user;
    const first = total !== null && steps.length === 0 ? [{ at, by: 0 }] : [];
    return fold(board, { start, steps: [...first, ...steps], asOf: user.revision });
  };
}

/** A change of the score. */
interface Step {
  readonly at: number;
  readonly by: number;
}

/** What a gain adds to the score. */
function amountOf({ source, id }: BoardDeclaration): (gain: Gain) => number {
  switch (source.type) {
    case "metric":
      return ({ metrics }) => (Object.hasOwn(metrics, source.metricId) ? (metrics[source.metricId] ?? 0) : 0);
    case "action": {
      const when = compileWhen(source.when);
      return gain => (gain.action === source.action && when(gain) ? source.amount : 0);
    }
    case "direct":
      throw new AppError("conflict", `Cannot rebuild the leaderboard ${id} as back ends write its scores`);
  }
}

function isOn({ event, season }: ResolvedBoard, { gain: { data }, at }: Earning): boolean {
  const isInSeason = season === null || (at >= season.startsAt && at < season.endsAt);
  if (event === null || !isInSeason) return isInSeason;
  const named = Object.hasOwn(data, "eventId") ? data.eventId : undefined;
  return typeof named === "string" && named.toLowerCase() === event.id;
}

/** The value of the metric before the first step that is recorded; null where it never changed. */
function startOf({ metrics }: UserEarnings, metricId: string, steps: readonly Step[]): number | null {
  if (!Object.hasOwn(metrics, metricId)) return null;
  return steps.reduce((value, { by }) => value - by, metrics[metricId] ?? 0);
}

/** The newest score within the board's bounds; one that is reached again right away is as old as it was. */
function fold(
  { location }: ResolvedBoard,
  user: { readonly start: number; readonly steps: readonly Step[]; readonly asOf: number },
): ReplayedScore | null {
  const { start, steps, asOf } = user;
  const reached = steps.reduce<{ readonly value: number; readonly last: ReplayedScore | null }>(
    ({ value, last }, { at, by }) => {
      const score = value + by;
      const isNew = isWithinBounds(location, score) && last?.score !== score;
      return { value: score, last: isNew ? { score, at, asOf } : last };
    },
    { value: start, last: null },
  );
  return reached.last;
}
