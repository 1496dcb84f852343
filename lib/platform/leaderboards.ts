/**
 * Rebuilding boards of a platform from what loyalty has on record.
 *
 * @module
 */

import type { Directory, Project } from "../directory/mod.ts";
import type { BoardPath, Leaderboards, Rebuilt } from "../leaderboards/mod.ts";
import type { Loyalty } from "../loyalty/mod.ts";

/** What rebuilding needs. */
export interface RebuildParts {
  readonly directory: Pick<Directory, "project">;
  readonly leaderboards: Pick<Leaderboards, "rebuild">;
  readonly loyalty: Pick<Loyalty, "earnings" | "users">;
}

/** Rebuilds a board for `users`, by default everybody of the organisation who has ever done anything. */
export async function rebuildFromLoyalty(
  { directory, leaderboards, loyalty }: RebuildParts,
  path: BoardPath & { readonly season?: string },
  users?: AsyncIterable<string>,
): Promise<Rebuilt> {
  const project = await directory.project(path.projectId);
  return await leaderboards.rebuild(path, {
    users: users ?? usersOf(loyalty, project),
    async earningsOf(userId) {
      if (project === null) return null;
      const { id: projectId, organisationId, spaceId } = project;
      return await loyalty.earnings({ projectId, organisationId, spaceId, userId });
    },
  });
}

async function* usersOf(
  loyalty: RebuildParts["loyalty"],
  project: Project | null,
): AsyncGenerator<string, void> {
  if (project === null) return;
  for await (const { spaceId, userId } of loyalty.users(project.organisationId)) {
    if (spaceId === project.spaceId) yield userId;
  }
}
