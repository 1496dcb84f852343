/**
 * Delivers score updates to their boards in the background.
 *
 * Updates wait per target. While a commit is running more arrive, and all of them join the next one: a busy board costs one
 * commit of each shard per round trip, however many users change it. An update says "this score as of that revision", so
 * that late or repeated delivery changes nothing. Updates that fail stay in the user's own record, from which they are
 * delivered when that user is next loaded, in the next round of background work, or by the sweep.
 */

import { AppError } from "../../../base/errors/mod.ts";
import { Cache, Delivery, followRecord, mapConcurrent } from "../../../storage/background/mod.ts";
import type { Store } from "../../../storage/mod.ts";
import type { Directory, Event, Project } from "../../directory/mod.ts";
import type { BoardDeclaration } from "../settings/board_settings.ts";
import {
  compileScoreCondition,
  declaredEventBoards,
  eventBoard,
  projectBoards,
  type ScoredAction,
} from "../settings/board_settings.ts";
import { closesAt, seasonAt, seasonById } from "../settings/seasons.ts";
import { changeScores, type ScoreChange } from "./change_scores.ts";
import {
  type BoardAddress,
  type BoardLocation,
  isWithinBounds,
  type LeaderboardServices,
  locateBoard,
} from "./resolve_board.ts";
import type { Retention } from "./retention.ts";

/** Users whose records are read at a time, where their entries have other scores than those delivered. */
const concurrency = 16;

export interface ScoreDeliveryOptions {
  readonly store: Store;
  readonly resolveTarget: ResolveTarget;
  /** Reads the score that a user's record has now for a target; null where it says nothing of it. */
  readonly readScore: (target: string, userId: string) => Promise<RecordedScore | null>;
  /** Called with the error of updates that are left to a later delivery. */
  readonly onGivenUp: (error: unknown) => void;
  /** Called with the number of scores of a target that are not ranked. */
  readonly onRefused: (target: string, because: TargetRefusal, count: number) => void;
  /** Begins to time a delivery; the function that it returns ends that. */
  readonly startTiming?: (() => (isDelivered: boolean) => void) | undefined;
  /** Most updates that wait in a process; more are given up at once. @default 100,000 */
  readonly waitingMax?: number;
}

/** Delivers score updates to their boards, many at a time. */
export class ScoreDelivery {
  readonly #options: ScoreDeliveryOptions;
  /** By target, whose settings are looked up once for each batch. */
  readonly #delivery: Delivery<ScoreChange>;

  constructor(options: ScoreDeliveryOptions) {
    const { onGivenUp, waitingMax } = options;
    this.#options = options;
    this.#delivery = new Delivery({
      write: (target, batch) => write(options, target, batch),
      onGivenUp,
      waitingMax,
    });
  }

  /** Delivers the updates of one user; calls `done` when all of them are applied, or left to a later delivery. */
  deliver(userId: string, updates: readonly ScoreUpdate[], done: (isDelivered: boolean) => void): void {
    const end = this.#options.startTiming?.();
    this.#delivery.deliver(
      updates.map(({ target, score, at, asOf }) => [target, { userId, score, at, asOf, operator: "set" }]),
      end === undefined
        ? done
        : isDelivered => {
            end(isDelivered);
            done(isDelivered);
          },
    );
  }

  /** Resolves when no update waits any more. */
  idle(): Promise<void> {
    return this.#delivery.idle();
  }
}

async function write(
  options: ScoreDeliveryOptions,
  target: string,
  batch: readonly ScoreChange[],
): Promise<void> {
  const { store, resolveTarget, onRefused } = options;
  const location = await resolveTarget(target);
  if (typeof location === "string") {
    onRefused(target, location, batch.length);
    return;
  }
  const shown = await changeScores(store, location, batch);
  // The board has seen a later revision of those who have another score there than the one delivered.
  const others = batch.flatMap(({ userId, score }, index) => {
    const entry = shown[index] ?? null;
    return entry === null || entry === score ? [] : [{ userId, score: entry }];
  });
  if (others.length > 0) await followRecords(options, { target, location }, others);
}

async function followRecords(
  { store, readScore }: ScoreDeliveryOptions,
  { target, location }: { readonly target: string; readonly location: BoardLocation },
  entries: readonly { readonly userId: string; readonly score: number }[],
): Promise<void> {
  await mapConcurrent(entries, concurrency, ({ userId, score: shown }) =>
    followRecord<RecordedScore>({
      shown,
      async read() {
        const recorded = await readScore(target, userId);
        return recorded === null || isWithinBounds(location, recorded.score) ? recorded : null;
      },
      async overwrite(recorded) {
        const [, score = null] = await changeScores(store, location, [
          { userId, operator: "remove" },
          { userId, operator: "set", ...recorded },
        ]);
        return score;
      },
    }),
  );
}

/** Time for which running sums are kept after a season is closed, in ms. */
const sumMarginMs = 24 * 60 * 60 * 1_000;
/** Time for which a running sum of an event's board without seasons is kept after its last change, in ms: 180 days. */
const eventSumMs = 180 * 24 * 60 * 60 * 1_000;

/** A fed board, whose target depends on the time where it has seasons or is of an event. */
interface TargetSource {
  /** The only action that can change the board; null where any may. */
  readonly action: string | null;
  /** The target at an instant (Unix ms); null between seasons. */
  readonly targetAt: (at: number) => ScoreTarget | null;
}

const sourcesByProject = new WeakMap<Project, readonly TargetSource[]>();
const sourcesByEvent = new WeakMap<
  Event,
  { readonly project: Project; readonly sources: readonly TargetSource[] }
>();

/** Lists the targets that an action may change. */
export async function scoreTargets(
  directory: Directory,
  projectId: string | null,
  { action, at, eventId }: TargetQuery,
): Promise<readonly ScoreTarget[]> {
  if (projectId === null) return [];
  const project = await directory.project(projectId);
  const event = eventId === null ? null : await directory.event(projectId, eventId);
  if (project === null) return [];
  const sources = event === null ? projectSources(project) : eventSources(project, event);
  const targets: ScoreTarget[] = [];
  for (const source of sources) {
    if (source.action !== null && source.action !== action) continue;
    const target = source.targetAt(at);
    if (target !== null) targets.push(target);
  }
  return targets;
}

function projectSources(project: Project): readonly TargetSource[] {
  const cached = sourcesByProject.get(project);
  if (cached !== undefined) return cached;
  const sources = [...projectBoards(project).values()].flatMap(board => sourceOf(board, project.id, null));
  sourcesByProject.set(project, sources);
  return sources;
}

function eventSources(project: Project, event: Event): readonly TargetSource[] {
  const cached = sourcesByEvent.get(event);
  if (cached?.project === project) return cached.sources;
  const ofEvent = [...declaredEventBoards(project, event).values()].flatMap(board =>
    sourceOf(board, project.id, event.id),
  );
  const sources = [...projectSources(project), ...ofEvent];
  sourcesByEvent.set(event, { project, sources });
  return sources;
}

/** Returns the source of a board in a list; an empty list where back ends write its scores. */
export function sourceOf(
  board: BoardDeclaration,
  projectId: string,
  eventId: string | null,
): readonly TargetSource[] {
  const { source, seasons } = board;
  if (source.type === "direct") return [];
  const id = `${board.order}/${projectId}/${eventId ?? ""}/${board.id}`;
  const action = source.type === "action" ? source.action : null;
  if (eventId === null && seasons.type === "none") {
    const target: ScoreTarget =
      source.type === "metric"
        ? { id, kind: "total", metricId: source.metricId }
        : { id, kind: "sum", amount: compileAmount(board) };
    return [{ action, targetAt: () => target }];
  }
  const amount = compileAmount(board);
  const event = eventId === null ? {} : { eventId };
  // One object per period, as callers key their own caches by it.
  let last: (SumPeriod & { readonly target: ScoreTarget }) | null = null;
  function targetAt(at: number): ScoreTarget | null {
    if (last !== null && last.startsAt <= at && at < last.endsAt) return last.target;
    const period = seasons.type === "none" ? eventDay(at) : seasonSums(board, at);
    if (period === null) return null;
    const { suffix, ...life } = period.sum;
    last = { ...period, target: { id: `${id}${suffix}`, kind: "sum", amount, ...event, ...life } };
    return last.target;
  }
  return [{ action, targetAt }];
}

/** A time during which gains are added to one sum; Unix ms. */
interface SumPeriod {
  readonly startsAt: number;
  /** Exclusive. */
  readonly endsAt: number;
  readonly sum: {
    readonly suffix: string;
    readonly keepUntil: number;
    readonly closesAt?: number;
  };
}

function seasonSums(board: BoardDeclaration, at: number): SumPeriod | null {
  const season = seasonAt(board, at);
  if (season === null) return null;
  const { id, startsAt, endsAt } = season;
  const closes = closesAt(board, season);
  return { startsAt, endsAt, sum: { suffix: `/${id}`, keepUntil: closes + sumMarginMs, closesAt: closes } };
}

/** The number of events grows without end, so each change prolongs the life of a running sum by a fixed time. */
function eventDay(at: number): SumPeriod {
  const startsAt = Math.floor(at / sumMarginMs) * sumMarginMs;
  const endsAt = startsAt + sumMarginMs;
  return { startsAt, endsAt, sum: { suffix: "", keepUntil: endsAt + eventSumMs } };
}

/**
 * Compiles how much a gain adds to the scores of a board.
 *
 * @throws {AppError} `conflict` for a board whose scores back ends write.
 */
export function compileAmount({ source, id }: BoardDeclaration): (gain: Gain) => number {
  switch (source.type) {
    case "metric":
      return ({ metrics }) => (Object.hasOwn(metrics, source.metricId) ? (metrics[source.metricId] ?? 0) : 0);
    case "action": {
      const condition = compileScoreCondition(source.when);
      return gain => (gain.action === source.action && condition(gain) ? source.amount : 0);
    }
    case "direct":
      throw new AppError("conflict", `Cannot rebuild the leaderboard ${id} as back ends write its scores`);
  }
}

function parseTarget(target: string): BoardAddress {
  const [, projectId = "", eventId = "", leaderboardId = "", season = ""] = target.split("/");
  return { projectId, eventId: eventId === "" ? null : eventId, leaderboardId, season };
}

/** Number of targets whose locations a process caches. */
const targetsMax = 10_000;

/** Why a score is not ranked: no settings declare its board as fed any more, or its season is closed. */
export type TargetRefusal = "undeclared" | "closed";

type Resolved = BoardLocation | TargetRefusal;

export type ResolveTarget = (target: string) => Promise<Resolved>;

/** Creates a resolver that follows the settings of boards. */
export function createTargetResolver(
  { directory, clock }: LeaderboardServices,
  retention: Retention,
): ResolveTarget {
  const targets = new Cache<{
    readonly address: BoardAddress;
    readonly declaration: BoardDeclaration;
    readonly location: BoardLocation;
    /** Unix ms; infinite on a board without seasons. */
    readonly closesAt: number;
  }>({ entriesMax: targetsMax });

  async function locate(
    target: string,
    declaration: BoardDeclaration,
    address: BoardAddress,
  ): Promise<Resolved> {
    const season = address.season === "" ? null : seasonById(declaration, address.season);
    // The board has gained or lost its seasons since, or never had this one.
    if ((season === null) !== (declaration.seasons.type === "none")) return "undeclared";
    const closes = season === null ? Number.POSITIVE_INFINITY : closesAt(declaration, season);
    if (clock() >= closes) return "closed";
    await retention.track({ declaration, address, season });
    const location = locateBoard(declaration, address);
    targets.set(target, { address, declaration, location, closesAt: closes });
    return location;
  }

  return async target => {
    const cached = targets.get(target);
    const address = cached?.address ?? parseTarget(target);
    const declaration = await fedBoard(directory, address);
    if (declaration === undefined) return "undeclared";
    if (cached?.declaration !== declaration) return await locate(target, declaration, address);
    return clock() < cached.closesAt ? cached.location : "closed";
  };
}

export function createRecordReader(
  { store, directory }: Pick<LeaderboardServices, "store" | "directory">,
  readRecordedScore: ReadRecordedScore,
): (target: string, userId: string) => Promise<RecordedScore | null> {
  return async (id, userId) => {
    const address = parseTarget(id);
    const { projectId, eventId, season } = address;
    const project = await directory.project(projectId);
    const source = (await fedBoard(directory, address))?.source;
    if (project === null || source === undefined) return null;
    const isTotal = source.type === "metric" && eventId === null && season === "";
    const kind = isTotal
      ? ({ kind: "total", metricId: source.metricId } as const)
      : ({ kind: "sum" } as const);
    return await readRecordedScore(store, project.organisationId, { id, projectId, userId, ...kind });
  };
}

/** Finds the declaration of a board; undefined also where back ends write its scores. */
async function fedBoard(
  directory: Directory,
  { projectId, eventId, leaderboardId }: BoardAddress,
): Promise<BoardDeclaration | undefined> {
  const project = await directory.project(projectId);
  if (project === null) return undefined;
  const event = eventId === null ? null : await directory.event(projectId, eventId);
  if (eventId !== null && event === null) return undefined;
  const declaration =
    event === null ? projectBoards(project).get(leaderboardId) : eventBoard(project, event, leaderboardId);
  return declaration?.source.type === "direct" ? undefined : declaration;
}

/** A user's new score on a target. Delivering it twice, or after a later one, changes nothing. */
export interface ScoreUpdate {
  readonly target: string;
  readonly score: number;
  /** When the score was reached, Unix ms. */
  readonly at: number;
  /** The revision of the user's state that the score belongs to. */
  readonly asOf: number;
}

/** A score without its target. */
export type RecordedScore = Omit<ScoreUpdate, "target">;

/** The changes of a user's metrics by one action. */
export interface Gain extends ScoredAction {
  readonly action: string;
  /** Change of each metric that changed. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** A board that an action may change. */
export type ScoreTarget =
  /** Shows the value of a metric. */
  | { readonly id: string; readonly kind: "total"; readonly metricId: string }
  /** Sums an amount per action. The sum is kept until `keepUntil`, scores are taken until `closesAt` (Unix ms); both for good without it. */
  | {
      readonly id: string;
      readonly kind: "sum";
      readonly amount: (gain: Gain) => number;
      /** The event of the board. @default a board of the project */
      readonly eventId?: string;
      readonly keepUntil?: number;
      readonly closesAt?: number;
    };

/** An action whose targets are asked for. */
export interface TargetQuery {
  readonly action: string;
  /** The `eventId` in the action's data, if it is a string. */
  readonly eventId: string | null;
  /** When the action counts, Unix ms: it changes the seasons of that time. */
  readonly at: number;
}

/** What a user's record is asked for: the value of a metric, or the sum kept for a target. */
export type RecordedTarget = { readonly projectId: string; readonly userId: string } & (
  | { readonly id: string; readonly kind: "total"; readonly metricId: string }
  | { readonly id: string; readonly kind: "sum" }
);

/** Reads the score that a user's record has now; null where it says nothing of the target. */
export type ReadRecordedScore = (
  store: Store,
  organisationId: string,
  target: RecordedTarget,
) => Promise<RecordedScore | null>;

/** A gain with its time. */
export interface Earning {
  readonly gain: Gain;
  /** Unix ms. */
  readonly at: number;
}

/** The recorded gains of a user. */
export interface UserEarnings {
  /** The project whose boards the user is on; null where none is known. */
  readonly projectId: string | null;
  /** The revision of the user's state that all of it belongs to. */
  readonly revision: number;
  /** When the state last changed, Unix ms. */
  readonly changedAt: number;
  /** The value of every metric that has ever changed. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Oldest first. The oldest may no longer be recorded. */
  readonly earnings: readonly Earning[];
}

/** The running sum of a target, as recorded earnings give it. */
export interface RecountedSum {
  /** The id of the target. */
  readonly id: string;
  /** Computes the sum of a user; null where nothing counts. */
  readonly sumOf: (user: UserEarnings) => { readonly total: number; readonly keepUntil?: number } | null;
}
