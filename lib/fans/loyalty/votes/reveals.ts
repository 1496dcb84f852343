/**
 * Reveals: what depends on the right option of an element applies to its voters once the option is public, and is taken back where it
 * changes or the element is revoked.
 *
 * A change of the public answer begins a round, which walks through the voters. Its record says how far it has come, so that another
 * process goes on with it. Each user is decided by one commit that notes the number of the round, and so may be met again.
 */

import { AppError } from "../../../base/errors/mod.ts";
import { DueQueue } from "../../../storage/background/due_queue.ts";
import { applyWrites, mapConcurrent } from "../../../storage/background/mod.ts";
import { decide, type Store } from "../../../storage/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import type { Command } from "../commit.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { reverse } from "../corrections.ts";
import { type Action, applyAction } from "../engine/apply_change.ts";
import { type CommandServices, runCommand } from "../run.ts";
import { transactionsOf } from "../user/history.ts";
import { recordsIn } from "../user/read_history.ts";
import { requireUnmerged, type SpaceUser, spaceUserPartition } from "../user/state.ts";
import { historyMax } from "../user/stored_state.ts";
import type { ElementSource, VotedElement } from "./elements.ts";
import { lookAgainMs, readVoters, revealsPartition, voterShards, votersPartition } from "./voters.ts";
import { isRightChoice, type RevealState, readRevealState, revealStateIn, revealWrites } from "./votes.ts";

/** Services that reveals need. */
interface RevealServices extends CommandServices {
  readonly directory: Pick<Directory, "project">;
  readonly elements: ElementSource;
  readonly queue: DueQueue;
}

/** Time in ms for which other processes leave an element alone. */
const leaseMs = 60_000;
/** Time in ms for which one element is worked on at a time, within the lease. */
const turnMs = 30_000;
const retryMs = 10_000;
/** Elements that are worked on at a time, and voters of each. */
const elementsAtOnce = 4;
const votersAtOnce = 32;
/** Log entries of voters that are read at a time. */
const pageMax = 20;
/** Time in ms after which an element is looked at that is about to change: longer than the change takes. */
const changeMs = 10_000;

/** A round, as it is stored. */
interface Round {
  readonly round: number;
  /** The public right option; null: none. */
  readonly answer: number | null;
  /** The last log entry that was worked on, by shard. */
  readonly cursors: readonly (string | null)[];
}

interface UserReveal extends Pick<Round, "round" | "answer"> {
  readonly element: VotedElement;
  /** Unix ms. */
  readonly publishedAt: number;
}

const roundRead = { type: "record", key: "round" } as const;

export function createRevealQueue(options: {
  readonly store: Store;
  readonly clock: () => number;
  readonly holder: string;
}): DueQueue {
  return new DueQueue({ ...options, partition: revealsPartition, claims: "member", leaseMs });
}

export class Reveals {
  readonly #services: RevealServices;
  #running: Promise<unknown> | null = null;

  constructor(services: RevealServices) {
    this.#services = services;
  }

  /** Makes reveals look at elements, once they were changed: also if the process stops after the change, and then a little later. */
  async expect(elementIds: readonly string[]): Promise<() => Promise<void>> {
    const { store, elements, queue, clock } = this.#services;
    const found = await Promise.all(elementIds.map(id => elements.element(id)));
    // Nobody voted for an element that was never published.
    const published = found.flatMap(element => (element?.at(clock()).publishedAt == null ? [] : element.id));
    const scheduleAt = async (at: number): Promise<void> => {
      if (published.length > 0)
        await applyWrites(store, revealsPartition, queue.schedule(published, at, "min"));
    };
    await scheduleAt(clock() + changeMs);
    return () => scheduleAt(clock());
  }

  /** Begins with what is due, unless that is under way. */
  start(): void {
    const { queue, logger } = this.#services;
    const onFailed = (_: string, error: unknown): void =>
      logger.log("warn", "reveal_deferred", { error: String(error) });
    this.#running ??= queue
      .processDue({ handle: id => this.#reveal(id), onFailed, retryMs, concurrency: elementsAtOnce })
      .catch((error: unknown) => onFailed("", error))
      .finally(() => {
        this.#running = null;
      });
  }

  /** Resolves when the work that has begun is done. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Works on an element. Returns when to look at it again, in Unix ms; null: not before it changes. */
  async #reveal(id: string): Promise<number | null> {
    const { store, clock, elements, directory } = this.#services;
    const element = await elements.currentElement(id);
    if (element === null) return null;
    const now = store.now?.() ?? clock();
    const { isOpen, publishedAt, answerAt } = element.at(now);
    const isPublic = answerAt !== null && answerAt <= now;
    const answer = isPublic ? element.rightOption : null;
    const isAwaited = isOpen || (answerAt !== null && !isPublic);
    const next = isAwaited ? Math.min(answerAt ?? Number.POSITIVE_INFINITY, clock() + lookAgainMs) : null;
    const round = await this.#beginRound(element, answer);
    const project = await directory.project(element.projectId);
    if (round === null || publishedAt === null || project === null) return next;
    const { organisationId, spaceId } = project;
    const until = clock() + turnMs;
    const common = { organisationId, spaceId, projectId: null };
    const isDone = await this.#walk(element, round, {
      until,
      reveal: userId =>
        this.#revealTo({ ...common, userId }, { element, publishedAt, round: round.round, answer }),
    });
    return isDone ? next : clock();
  }

  /** Returns the round of an answer, a new one where the answer has changed; null: there was never an answer. */
  async #beginRound(element: VotedElement, answer: number | null): Promise<Round | null> {
    return await decide(this.#services.store, votersPartition(element), {
      reads: [roundRead],
      idempotent: true,
      apply: ([stored]) => {
        const before = stored === null ? null : (JSON.parse(stored.value) as Round);
        if (before === null ? answer === null : before.answer === answer)
          return { writes: [], answer: before };
        const cursors = Array.from({ length: voterShards }, () => null);
        const round: Round = { round: (before?.round ?? 0) + 1, answer, cursors };
        return { writes: [{ type: "put", key: roundRead.key, value: JSON.stringify(round) }], answer: round };
      },
    });
  }

  /** Goes on with a round. Returns false where voters are left. */
  async #walk(
    element: VotedElement,
    { round, cursors }: Round,
    { until, reveal }: { readonly until: number; readonly reveal: (userId: string) => Promise<void> },
  ): Promise<boolean> {
    const { store, clock } = this.#services;
    for (let shard = 0; shard < voterShards; shard++) {
      for (let cursor = cursors[shard] ?? null; ; ) {
        if (clock() >= until) return false;
        const [entries] = await store.read(votersPartition(element, shard), [readVoters(cursor, pageMax)]);
        const last = entries.at(-1);
        if (last === undefined) break;
        const userIds = new Set(entries.flatMap(({ value }) => JSON.parse(value) as readonly string[]));
        await mapConcurrent([...userIds], votersAtOnce, reveal);
        cursor = last.id;
        if (!(await this.#noteProgress(element, { round, shard, cursor }))) return false;
      }
    }
    return true;
  }

  /** Returns false where another round has begun. */
  async #noteProgress(
    element: VotedElement,
    { round, shard, cursor }: { readonly round: number; readonly shard: number; readonly cursor: string },
  ): Promise<boolean> {
    return await decide(this.#services.store, votersPartition(element), {
      reads: [roundRead],
      idempotent: true,
      apply: ([stored]) => {
        const current = stored === null ? null : (JSON.parse(stored.value) as Round);
        if (current?.round !== round) return { writes: [], answer: false };
        const value = JSON.stringify({ ...current, cursors: current.cursors.with(shard, cursor) });
        return { writes: [{ type: "put", key: roundRead.key, value }], answer: true };
      },
    });
  }

  /** Applies a round to a voter, or to the account that the voter was merged into. */
  async #revealTo(user: SpaceUser, reveal: UserReveal): Promise<void> {
    const { store, states, configOf } = this.#services;
    const { element, publishedAt, round, answer } = reveal;
    const config = await configOf(user.spaceId);
    const names = [...config.actions.keys()];
    const partition = spaceUserPartition(user);
    const read = readRevealState(element, publishedAt, names);
    const [stored, tally] = await store.read(partition, [states.query, read]);
    if (stored === null) return;
    const { mergedInto } = states.valueOf(partition, stored);
    for (const action of names) {
      const found = revealStateIn(tally, element, action);
      if (found === null || found.isSettled || found.round >= round) continue;
      if (found.paidAt > 0) await this.#takeBack(user, reveal, { action, paidAt: found.paidAt });
      if (answer === null || mergedInto !== null) continue;
      await runCommand(this.#services, user, (current, now) =>
        revealCommand(current, { ...reveal, action, ms: found.ms }, now),
      );
    }
    if (mergedInto !== null) await this.#revealTo({ ...user, userId: mergedInto }, reveal);
  }

  /** Takes back what an earlier round paid. It may be repeated. */
  async #takeBack(
    user: SpaceUser,
    reveal: UserReveal,
    { action, paidAt }: { readonly action: string; readonly paidAt: number },
  ): Promise<void> {
    const { element } = reveal;
    for await (const record of recordsIn(this.#services.store, user, {
      from: paidAt,
      to: paidAt,
      recordsMax: historyMax,
    })) {
      const of = record.action;
      if (of?.isReveal !== true || of.name !== action || of.element?.id !== element.id) continue;
      for (const { id } of transactionsOf(record)) {
        await reverse(this.#services, user, id).catch((error: unknown) => {
          if (!isReversed(error)) throw error;
        });
      }
    }
    await runCommand(this.#services, user, () => clearCommand({ ...reveal, action }));
  }
}

/** Tests if a transaction was taken back before, or has nothing to take back. */
function isReversed(error: unknown): boolean {
  return error instanceof AppError && error.code === "conflict" && error.retryAfterMs === undefined;
}

type RevealOfAction = UserReveal & { readonly action: string };

/** Makes the command that applies what depends on the answer, once, and counts it for the time of the votes. */
function revealCommand(
  config: CompiledConfig,
  reveal: RevealOfAction & Pick<RevealState, "ms">,
  now: number,
): Command {
  const { element, publishedAt, round, action: name, ms } = reveal;
  const stateOf = ([tally]: readonly unknown[]): RevealState | null =>
    revealStateIn(tally as ReadonlyMap<string, number>, element, name);
  return {
    kind: "reveal",
    isIdempotent: true,
    at: Math.min(now, publishedAt + ms),
    reads: [readRevealState(element, publishedAt, [name])],
    scoring: { action: "", data: { eventId: element.eventId } },
    apply: (state, results, options) => {
      requireUnmerged(state);
      const before = stateOf(results);
      if (before === null || before.round >= round || config.actions.get(name)?.answered == null) return null;
      const action = revealedAction(reveal, before, now);
      const outcome = applyAction(config, state, action, options);
      const { transactions, action: applied } = outcome.record;
      if (transactions.length === 0 && applied?.advanced === undefined) return null;
      const paid = { round, paidAt: outcome.record.at };
      const writes = revealWrites(element, { publishedAt, action: name, before }, paid);
      return { ...outcome, writes };
    },
  };
}

/** Returns the action of a user's votes as it is known once the answer is. */
function revealedAction(
  { element, publishedAt, answer, action: name }: RevealOfAction,
  { standing, ms }: RevealState,
  now: number,
): Action {
  const { id, type, points, eventId } = element;
  const option = standing.options.map(each => each.option).join(",");
  const isRight = answer !== null && isRightChoice(standing, answer);
  return {
    name,
    data: { elementId: id, option, eventId },
    at: now,
    happenedAt: Math.min(now, publishedAt + ms),
    element: { id, type, points, seconds: ms / 1_000, isRight },
    isReveal: true,
  };
}

/** Makes the command that forgets a payment that was taken back. */
function clearCommand({ element, publishedAt, action }: RevealOfAction): Command {
  return {
    kind: "reveal",
    isIdempotent: true,
    reads: [readRevealState(element, publishedAt, [action])],
    writes: ([tally]) => {
      const before = revealStateIn(tally as ReadonlyMap<string, number>, element, action);
      if (before === null || before.paidAt === 0) return [];
      return revealWrites(element, { publishedAt, action, before }, { round: before.round, paidAt: 0 });
    },
  };
}
