/** Boards by plain sorting of what naive users gained. */

import type { Random } from "../../../../../adapters/conformance/random.ts";
import { dayMs, metricIds } from "./_random_space.ts";

/** A change that counts for boards. */
export interface BoardChange {
  readonly userId: string;
  readonly id: string;
  readonly by: number;
  readonly at: number;
  readonly step: number;
  readonly event: string | null;
}

/** A board. */
export interface ModelBoard {
  readonly id: string;
  readonly metric: string;
  readonly order: "asc" | "desc";
  readonly style: "competition" | "dense" | "ordinal";
  readonly shards: number;
  readonly seasons: "none" | "daily" | "weekly" | "monthly";
  readonly isOfEvents: boolean;
}

/** An entry of a board. */
export interface ModelEntry {
  readonly rank: number;
  readonly score: number;
  readonly userId: string;
}

/** Boards of all kinds over random metrics; the last one is one of events. */
export function randomBoards(random: Random): readonly ModelBoard[] {
  return [0, 1, 2, 3].map((index): ModelBoard => {
    const style = random.pick(["competition", "dense", "ordinal"] as const);
    const isOfEvents = index === 3;
    return {
      id: `b${index}`,
      metric: random.pick(metricIds),
      order: random.pick(["asc", "desc"] as const),
      style,
      shards: style === "dense" ? 1 : random.pick([1, 2, 8]),
      seasons: isOfEvents ? "none" : random.pick(["none", "daily", "weekly", "monthly"] as const),
      isOfEvents,
    };
  });
}

/** The settings that declare a board whose seasons are all kept, and open until everything is noticed. */
export function declarationOf(
  { id, metric, order, style, shards, seasons }: ModelBoard,
  timeZone: string,
): object {
  const schedule = seasons === "none" ? { type: "none" } : { type: seasons, timeZone };
  const longRetention = { keepSeasons: 400, graceMs: 7 * dayMs };
  return {
    id,
    order,
    shards,
    rankStyle: style,
    source: { type: "metric", metricId: metric },
    seasons: schedule,
    ...longRetention,
  };
}

/**
 * The entries of a board.
 *
 * @param start What every user has of the metric before the first change; 0 on boards that sum up what was gained.
 */
export function entriesOf(
  { order, style }: ModelBoard,
  changes: readonly BoardChange[],
  start: number,
): readonly ModelEntry[] {
  const users = [...new Set(changes.map(({ userId }) => userId))];
  const lines = users.flatMap(userId => {
    const changesOfUser = changes.filter(change => change.userId === userId);
    // A score that leaves and returns in one step is never visible.
    const net = (step: number): number =>
      changesOfUser.reduce((sum, one) => (one.step === step ? sum + one.by : sum), 0);
    const last = changesOfUser.findLast(({ step }) => net(step) !== 0);
    if (last === undefined) return [];
    return [{ userId, at: last.at, score: changesOfUser.reduce((sum, { by }) => sum + by, start) }];
  });
  const sign = order === "desc" ? -1 : 1;
  lines.sort((a, b) => sign * (a.score - b.score) || a.at - b.at || (a.userId < b.userId ? -1 : 1));
  const scores = lines.map(({ score }) => score);
  return lines.map(({ userId, score }, index) => {
    if (style === "ordinal") return { rank: index + 1, score, userId };
    const ahead = scores.filter(other => sign * (other - score) < 0);
    return { rank: 1 + (style === "dense" ? new Set(ahead).size : ahead.length), score, userId };
  });
}
