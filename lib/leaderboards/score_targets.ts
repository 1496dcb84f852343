/**
 * The boards that users' metrics and actions feed, as targets of the score feed.
 *
 * A target's id is `<order>/<projectId>/<eventId>/<leaderboardId>`, with an empty event id on a project's board.
 *
 * @module
 */

import type { Directory, Event, Project } from "../directory/mod.ts";
import { type Condition, compileCondition, type Environment } from "../expressions/mod.ts";
import type { Gain, ScoreTarget } from "../ports/score_feed.ts";
import type { Partition } from "../storage/mod.ts";
import { boardPartition } from "./address.ts";
import type { BoardDeclaration } from "./board_settings.ts";
import { declaredEventBoards, projectBoards } from "./declarations.ts";

/** What an action names besides itself. */
export interface TargetQuery {
  readonly action: string;
  /** The `eventId` in the action's data, if it is a string. */
  readonly eventId: string | null;
}

interface FedBoard {
  readonly target: ScoreTarget;
  /** The only action that can move it; null where any may. */
  readonly action: string | null;
}

const fedByProject = new WeakMap<Project, readonly FedBoard[]>();
const fedByEvent = new WeakMap<Event, { readonly project: Project; readonly boards: readonly FedBoard[] }>();

/** The targets that an action of a user of the project may move. */
export async function scoreTargets(
  directory: Directory,
  projectId: string,
  { action, eventId }: TargetQuery,
): Promise<readonly ScoreTarget[]> {
  const project = await directory.project(projectId);
  if (project === null) return [];
  const event = eventId === null ? null : await directory.event(projectId, eventId);
  const boards = event === null ? ofProject(project) : [...ofProject(project), ...ofEvent(project, event)];
  return boards.filter(board => board.action === null || board.action === action).map(({ target }) => target);
}

/** Where the scores of a target are kept, and which score leads. */
export function targetBoard(id: string): { readonly partition: Partition; readonly order: "desc" | "asc" } {
  const [order, projectId = "", eventId = "", leaderboardId = ""] = id.split("/");
  return {
    partition: boardPartition({
      projectId,
      eventId: eventId === "" ? null : eventId,
      leaderboardId,
      season: "",
      shard: 0,
    }),
    order: order === "asc" ? "asc" : "desc",
  };
}

function ofProject(project: Project): readonly FedBoard[] {
  const known = fedByProject.get(project);
  if (known !== undefined) return known;
  const boards = [...projectBoards(project).values()].flatMap(declaration => {
    const id = `${declaration.order}/${project.id}//${declaration.id}`;
    if (declaration.source.type !== "metric") return fedByAction(id, declaration);
    return [{ target: { id, kind: "total", metricId: declaration.source.metricId } as const, action: null }];
  });
  fedByProject.set(project, boards);
  return boards;
}

function ofEvent(project: Project, event: Event): readonly FedBoard[] {
  const known = fedByEvent.get(event);
  if (known?.project === project) return known.boards;
  const boards = [...declaredEventBoards(project, event).values()].flatMap(declaration => {
    const id = `${declaration.order}/${project.id}/${event.id}/${declaration.id}`;
    if (declaration.source.type !== "metric") return fedByAction(id, declaration);
    const { metricId } = declaration.source;
    const amount = ({ metrics }: Gain): number =>
      Object.hasOwn(metrics, metricId) ? (metrics[metricId] ?? 0) : 0;
    return [{ target: { id, kind: "sum", amount } as const, action: null }];
  });
  fedByEvent.set(event, { project, boards });
  return boards;
}

function fedByAction(id: string, { source }: BoardDeclaration): FedBoard[] {
  if (source.type !== "action") return [];
  const when: Condition<Gain> =
    source.when === undefined ? () => true : compileCondition(source.when, environment);
  const amount = (gain: Gain): number => (when(gain) ? source.amount : 0);
  return [{ target: { id, kind: "sum", amount }, action: source.action }];
}

/** `data.<name>`, own properties only. */
const environment: Environment<Gain> = {
  variable(path) {
    if (!path.startsWith("data.")) return null;
    const name = path.slice("data.".length);
    return { type: "any", read: ({ data }) => (Object.hasOwn(data, name) ? data[name] : undefined) };
  },
};
