/** The board that cannot be wrong: every user's score in one map, sorted anew for every question. */

import type { RankedEntry } from "../../../../lib/fans/leaderboards/ranking/ranking.ts";
import type { BoardChange } from "../../../../lib/fans/leaderboards/scores/change_scores.ts";
import type { BoardLocation } from "../../../../lib/fans/leaderboards/scores/resolve_board.ts";

interface Row {
  readonly userId: string;
  readonly score: number;
  readonly tie: number;
  readonly asOf: number | null;
}

type Rules = Pick<BoardLocation, "order" | "rankStyle" | "bounds">;

/** Scores as users see them. */
export class NaiveBoard {
  readonly #rows = new Map<string, Row>();
  readonly #rules: Rules;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** Applies a change and answers the score that the user then has; null where there is none or it was refused. */
  change(change: BoardChange): number | null {
    const held = this.#rows.get(change.userId);
    if (change.operator === "remove") {
      this.#rows.delete(change.userId);
      return null;
    }
    const { userId, operator, at } = change;
    const asOf = change.asOf ?? (operator === "latest" ? at : null);
    const { bounds } = this.#rules;
    const isOut = (score: number): boolean =>
      bounds !== undefined && (score < bounds.min || score > bounds.max);
    if (held !== undefined && asOf !== null && held.asOf !== null && asOf <= held.asOf) return held.score;
    const score = 0 + this.#combine(operator, held?.score, change.score);
    if (isOut(score)) return null;
    const tie = held?.score === score ? held.tie : at;
    this.#rows.set(userId, { userId, score, tie, asOf: asOf ?? held?.asOf ?? null });
    return score;
  }

  /** Every user in order. */
  ranking(): RankedEntry[] {
    const { order, rankStyle } = this.#rules;
    const sign = order === "desc" ? -1 : 1;
    const rows = [...this.#rows.values()].sort(
      (a, b) =>
        sign * (a.score - b.score) ||
        a.tie - b.tie ||
        Buffer.compare(Buffer.from(a.userId), Buffer.from(b.userId)),
    );
    const leads = (a: Row, b: Row): boolean => sign * (a.score - b.score) < 0;
    return rows.map((row, index) => {
      const better = rows.filter(other => leads(other, row));
      const ranks = {
        competition: better.length + 1,
        dense: new Set(better.map(other => other.score)).size + 1,
        ordinal: index + 1,
      };
      return { rank: ranks[rankStyle], score: row.score, userId: row.userId };
    });
  }

  /** Returns the list. */
  list(limit: number, include: readonly string[], hidden: ReadonlySet<string>): RankedEntry[] {
    const visible = this.ranking().filter(({ userId }) => !hidden.has(userId));
    return visible.filter(({ userId }, index) => index < limit || include.includes(userId));
  }

  /** The part around a user. */
  around(userId: string, limit: number, hidden: ReadonlySet<string>): RankedEntry[] | null {
    const visible = this.ranking().filter(user => user.userId === userId || !hidden.has(user.userId));
    const index = visible.findIndex(user => user.userId === userId);
    if (index === -1) return null;
    let [from, to] = [index, index + 1];
    for (let turn = 1; to - from < Math.min(limit, visible.length); turn++) {
      const isBehind = turn % 2 === 1;
      if ((isBehind && to < visible.length) || from === 0) to += 1;
      else from -= 1;
    }
    return visible.slice(from, to);
  }

  /** The share of entries that rank at the user's place or below, in percent. */
  percentile(userId: string): number {
    const all = this.ranking();
    const rank = all.find(user => user.userId === userId)?.rank ?? Number.NaN;
    return Math.round((all.filter(user => user.rank >= rank).length / all.length) * 10_000) / 100;
  }

  #combine(operator: string, held: number | undefined, given: number): number {
    if (held === undefined) return given;
    if (operator === "sum") return held + given;
    if (operator !== "best") return given;
    return this.#rules.order === "desc" ? Math.max(held, given) : Math.min(held, given);
  }
}
