/**
 * The boards that users' metrics and actions feed, as targets of the score feed.
 *
 * A target's id is `<order>/<projectId>/<eventId>/<leaderboardId>`, with an empty event id on a project's board, and
 * `/<seasonId>` at its end on a board with seasons.
 *
 * @module
 */

import type { Directory, Event, Project } from "../../directory/mod.ts";
import { type Condition, compileCondition, type Environment } from "../../expressions/mod.ts";
import { chain } from "../../http/mod.ts";
import type { BoardDeclaration } from "../settings/board_settings.ts";
import { declaredEventBoards, projectBoards } from "../settings/declarations.ts";
import { closesAt, seasonOf } from "../settings/seasons.ts";
import type { Gain, ScoreTarget } from "./score_feed.ts";

/** What an action names besides itself. */
export interface TargetQuery {
  readonly action: string;
  /** The `eventId` in the action's data, if it is a string. */
  readonly eventId: string | null;
  /** When the action counts, Unix ms: it moves the seasons of that time. */
  readonly at: number;
}

/** How long after a season's scores are no longer taken its running sums are kept, in ms. */
export const sumMarginMs: number = 24 * 60 * 60 * 1_000;
/**
 * How long after a user's last move on an event's board without seasons the user's running sum is kept, in ms: 180 days. The board
 * keeps the score; who moves it after that begins anew.
 */
export const eventSumMs: number = 180 * 24 * 60 * 60 * 1_000;

interface FedBoard {
  /** The only action that can move it; null where any may. */
  readonly action: string | null;
  /** The board, or its season at an instant (Unix ms); null between seasons. */
  readonly target: (at: number) => ScoreTarget | null;
}

const fedByProject = new WeakMap<Project, readonly FedBoard[]>();
const fedByEvent = new WeakMap<Event, { readonly project: Project; readonly boards: readonly FedBoard[] }>();

/** The targets that an action of a user of the project may move; without a promise while project and event are fresh. */
export function scoreTargets(
  directory: Directory,
  projectId: string,
  query: TargetQuery,
): readonly ScoreTarget[] | Promise<readonly ScoreTarget[]> {
  return chain(directory.project(projectId), project => {
    if (project === null) return [];
    const { eventId } = query;
    if (eventId === null) return moved(ofProject(project), query);
    return chain(directory.event(projectId, eventId), event =>
      moved(event === null ? ofProject(project) : ofEvent(project, event), query),
    );
  });
}

/** The targets of the boards that an action may move at its time. */
function moved(boards: readonly FedBoard[], { action, at }: TargetQuery): readonly ScoreTarget[] {
  const targets = boards.map(board =>
    board.action === null || board.action === action ? board.target(at) : null,
  );
  return targets.every(isTarget) ? targets : targets.filter(isTarget);
}

function isTarget(target: ScoreTarget | null): target is ScoreTarget {
  return target !== null;
}

function ofProject(project: Project): readonly FedBoard[] {
  const known = fedByProject.get(project);
  if (known !== undefined) return known;
  const boards = [...projectBoards(project).values()].flatMap(declaration => {
    const id = `${declaration.order}/${project.id}//${declaration.id}`;
    if (declaration.source.type !== "metric") return fedByAction(id, declaration);
    const { metricId } = declaration.source;
    if (declaration.seasons.type !== "none") return fedByGain(id, declaration, metricId);
    const target = { id, kind: "total", metricId } as const;
    return [{ action: null, target: () => target }];
  });
  fedByProject.set(project, boards);
  return boards;
}

/** The boards of an event and of its project. */
function ofEvent(project: Project, event: Event): readonly FedBoard[] {
  const known = fedByEvent.get(event);
  if (known?.project === project) return known.boards;
  const own = [...declaredEventBoards(project, event).values()].flatMap(declaration => {
    const id = `${declaration.order}/${project.id}/${event.id}/${declaration.id}`;
    const fed =
      declaration.source.type === "metric"
        ? fedByGain(id, declaration, declaration.source.metricId)
        : fedByAction(id, declaration);
    return declaration.seasons.type === "none" ? fed.map(forgotten) : fed;
  });
  const boards = [...ofProject(project), ...own];
  fedByEvent.set(event, { project, boards });
  return boards;
}

/** There is no end to events, so the sums of each user on their boards are kept for a time alone. */
function forgotten({ action, target: whole }: FedBoard): FedBoard {
  let last: { readonly day: number; readonly target: ScoreTarget } | null = null;
  return {
    action,
    target: at => {
      const day = Math.floor(at / sumMarginMs);
      if (last?.day === day) return last.target;
      const target = whole(at);
      if (target?.kind !== "sum") return target;
      const kept = { ...target, keepUntil: (day + 1) * sumMarginMs + eventSumMs };
      last = { day, target: kept };
      return kept;
    },
  };
}

function fedByGain(id: string, declaration: BoardDeclaration, metricId: string): FedBoard[] {
  const amount = ({ metrics }: Gain): number =>
    Object.hasOwn(metrics, metricId) ? (metrics[metricId] ?? 0) : 0;
  return [{ action: null, target: sumTarget(id, declaration, amount) }];
}

function fedByAction(id: string, declaration: BoardDeclaration): FedBoard[] {
  const { source } = declaration;
  if (source.type !== "action") return [];
  const when = compileWhen(source.when);
  const amount = (gain: Gain): number => (when(gain) ? source.amount : 0);
  return [{ action: source.action, target: sumTarget(id, declaration, amount) }];
}

function sumTarget(
  id: string,
  declaration: BoardDeclaration,
  amount: (gain: Gain) => number,
): FedBoard["target"] {
  const whole: ScoreTarget = { id, kind: "sum", amount };
  if (declaration.seasons.type === "none") return () => whole;
  let last: { readonly season: string; readonly target: ScoreTarget } | null = null;
  return at => {
    const season = seasonOf(declaration, at);
    if (season === null) return null;
    if (last?.season !== season.id) {
      const keepUntil = closesAt(declaration, season) + sumMarginMs;
      last = { season: season.id, target: { id: `${id}/${season.id}`, kind: "sum", amount, keepUntil } };
    }
    return last.target;
  };
}

/**
 * Compiles the condition of a board that is fed by an action.
 *
 * @param pointer JSON Pointer to the condition in its document, for errors.
 * @throws {AppError} `validation_failed`, with the pointer of the part at fault.
 */
export function compileWhen(when: unknown, pointer = ""): Condition<Gain> {
  return when === undefined ? () => true : compileCondition(when, environment, pointer);
}

/** `data.<name>`, own properties only. */
const environment: Environment<Gain> = {
  variable(path) {
    if (!path.startsWith("data.")) return null;
    const name = path.slice("data.".length);
    return {
      type: "any",
      read: ({ data }) => (Object.hasOwn(data, name) ? data[name] : undefined),
    };
  },
};
