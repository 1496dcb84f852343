/**
 * Users whose project becomes known: what they have earned before is replayed from the history for the boards of the project.
 *
 * @module
 */

import { isUuid } from "../../../auth/crypto/mod.ts";
import type { Earning, FedBoards, ScoreUpdate } from "../../leaderboards/mod.ts";
import { signUpProjectOf } from "../../users/mod.ts";
import { ownValue } from "../config/scope.ts";
import type { LoyaltyServices } from "../services.ts";
import type { CachedUser } from "../user/space_user.ts";
import { emptyState, type UserState } from "../user/state.ts";
import type { CommandDecision } from "./command.ts";
import { decideWithEarnings } from "./history_decision.ts";
import { changedSums, keptSums, targetQueryOf, withChangedSums } from "./scores.ts";

type Joined = Pick<CommandDecision, "state" | "updates">;

/**
 * Gives a user a project, by default the one of the sign-up, which wins over any other. Creates an empty state where there is
 * none. A user who has a project keeps it. The caller registers the user as due before, and delivers the scores after.
 */
export async function joinProject(
  services: Pick<LoyaltyServices, "store" | "clock" | "boards" | "states">,
  user: CachedUser,
  named: string | null,
): Promise<Joined> {
  for (let projectId = named; ; ) {
    const outcome = await replayAndJoin(services, user, projectId);
    if ("state" in outcome) {
      user.projectId = outcome.state.projectId;
      return outcome;
    }
    projectId = outcome.projectId;
  }
}

/** Joins a project, or returns the one of the sign-up where that is another. */
async function replayAndJoin(
  services: Pick<LoyaltyServices, "store" | "clock" | "boards" | "states">,
  user: CachedUser,
  projectId: string | null,
): Promise<Joined | { readonly projectId: string }> {
  let replayed: ReplayedScores | null = null;
  let replayedCount = 0;
  return await decideWithEarnings<Joined | { readonly projectId: string }>(
    services,
    user,
    ({ state: stored, account, earnings }) => {
      const before = stored ?? emptyState(null);
      const signedUpIn = signUpProjectOf(account);
      const isSettled = before.projectId !== null || before.mergedInto !== null;
      if (!isSettled && signedUpIn !== null && signedUpIn !== projectId) {
        return { writes: [], answer: { projectId: signedUpIn } };
      }
      const isDone = stored !== null && (isSettled || projectId === null);
      if (!isDone && earnings.length !== replayedCount) return null;
      const state = isDone ? before : joined(before, projectId, replayed);
      const writes = isDone ? [] : [services.states.put(state)];
      return { writes, answer: { state, updates: user.undelivered(state.undelivered) } };
    },
    async earnings => {
      if (projectId !== null) replayed = await replayScores(services, projectId, earnings);
      replayedCount = earnings.length;
    },
  );
}

/** The scores of a user on the boards of a project, as the history tells them. */
interface ReplayedScores {
  readonly sums: UserState["sums"];
  readonly scores: readonly Omit<ScoreUpdate, "asOf">[];
  /** Boards that show a metric; their scores are the metrics themselves. */
  readonly totals: readonly {
    readonly id: string;
    readonly metricId: string;
    readonly at: number | undefined;
  }[];
}

function joined(before: UserState, projectId: string | null, replayed: ReplayedScores | null): UserState {
  if (replayed === null) return { ...before, projectId };
  const totals = replayed.totals.flatMap(({ id, metricId, at = before.changedAt }) => {
    const score = ownValue(before.metrics, metricId);
    return score === undefined ? [] : [{ target: id, score, at }];
  });
  const scores = [...replayed.scores, ...totals];
  // A revision of its own, as scores as of the last one may count as delivered.
  const revision = before.revision + (scores.length === 0 ? 0 : 1);
  const updates = scores.map(score => ({ ...score, asOf: revision }));
  const targets = new Set(updates.map(({ target }) => target));
  const undelivered = [...before.undelivered.filter(({ target }) => !targets.has(target)), ...updates];
  return { ...before, revision, projectId, sums: replayed.sums, undelivered };
}

/**
 * Computes what the boards of a project would show, had it been known from the start. Closed seasons are left out, and so are
 * events that were named by an alias, as none was known without the project.
 */
async function replayScores(
  { boards, clock }: { readonly boards: FedBoards; readonly clock: () => number },
  projectId: string,
  earnings: readonly Earning[],
): Promise<ReplayedScores> {
  const now = clock();
  const scores = new Map<string, Omit<ScoreUpdate, "asOf">>();
  const gainedAt = new Map<string, number>();
  let sums: UserState["sums"] = {};
  for (const { gain, at } of earnings) {
    const query = targetQueryOf(gain, at);
    const eventId = query.eventId !== null && isUuid(query.eventId) ? query.eventId : null;
    const found = await boards.targets(projectId, { ...query, eventId });
    const targets = found.filter(
      ({ kind, ...target }) => kind === "total" || !("closesAt" in target) || target.closesAt > now,
    );
    const changed = changedSums(targets, sums, gain);
    sums = withChangedSums(sums, changed, 0);
    for (const { id, total } of changed) scores.set(id, { target: id, score: total, at });
    for (const metricId of Object.keys(gain.metrics)) gainedAt.set(metricId, at);
  }
  const current = await boards.targets(projectId, targetQueryOf({ action: "", data: {} }, now));
  const totals = current.flatMap(target =>
    target.kind === "total"
      ? [{ id: target.id, metricId: target.metricId, at: gainedAt.get(target.metricId) }]
      : [],
  );
  return { sums: keptSums(sums, now), scores: [...scores.values()], totals };
}
