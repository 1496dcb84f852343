/**
 * Resolves a target of the score feed to the partitions of its scores.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { Cache } from "../../background/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { chain } from "../../http/mod.ts";
import type { BoardDeclaration } from "../settings/board_settings.ts";
import { eventBoard, projectBoards } from "../settings/declared_boards.ts";
import { closesAt, seasonById } from "../settings/seasons.ts";
import { type BoardAddress, type BoardLocation, locateBoard } from "./board_location.ts";
import type { Retention } from "./retention.ts";
import { parseTarget } from "./score_targets.ts";

/** Number of targets whose locations a process caches. */
const targetsMax = 10_000;

/** Why a score is not ranked: no settings declare its board as fed any more, or its season is closed. */
export type TargetRefusal = "undeclared" | "closed";

type Resolved = BoardLocation | TargetRefusal;

/** Resolves a target; without a promise while its project and event are cached. */
export type ResolveTarget = (target: string) => Resolved | Promise<Resolved>;

interface CachedTarget {
  readonly address: BoardAddress;
  readonly declaration: BoardDeclaration;
  readonly location: BoardLocation;
  /** Unix ms; infinite on a board without seasons. */
  readonly closesAt: number;
}

/** Creates a resolver that follows the settings of boards. */
export function createTargetResolver({
  directory,
  clock,
  retention,
}: {
  readonly directory: Directory;
  readonly clock: Clock;
  readonly retention: Pick<Retention, "track">;
}): ResolveTarget {
  const targets = new Cache<CachedTarget>({ entriesMax: targetsMax });

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

  return target => {
    const cached = targets.get(target);
    const address = cached?.address ?? parseTarget(target);
    return chain(fedBoard(directory, address), declaration => {
      if (declaration === undefined) return "undeclared";
      if (cached?.declaration !== declaration) return locate(target, declaration, address);
      return clock() < cached.closesAt ? cached.location : "closed";
    });
  };
}

/** Finds the declaration of a board unless back ends write its scores. */
function fedBoard(
  directory: Directory,
  { projectId, eventId, leaderboardId }: BoardAddress,
): BoardDeclaration | undefined | Promise<BoardDeclaration | undefined> {
  return chain(directory.project(projectId), project => {
    if (project === null) return undefined;
    if (eventId === null) return unlessDirect(projectBoards(project).get(leaderboardId));
    return chain(directory.event(projectId, eventId), event =>
      event === null ? undefined : unlessDirect(eventBoard(project, event, leaderboardId)),
    );
  });
}

function unlessDirect(declaration: BoardDeclaration | undefined): BoardDeclaration | undefined {
  return declaration?.source.type === "direct" ? undefined : declaration;
}
