/**
 * Archived projects keep what they have: routes that change something refuse it, and reading goes on.
 *
 * @module
 */

import { type Directory, requireUnarchived } from "../fans/directory/mod.ts";
import { type AnyRoute, type Area, type Call, chain } from "../http/mod.ts";

/** Operations that serve archived projects although their method may change something. */
const serving: ReadonlySet<string> = new Set([
  // Reading needs a login.
  ...["logInUser", "refreshUser", "logOutUser", "revokeUserSessions", "revokeUserSession"],
  // Nobody has to stay in an archive.
  ...["deleteOwnUser", "deleteUser"],
  // A trial, which changes nothing.
  "tryAction",
]);

/** Lets the routes of an area that change something of a project refuse it where the project is archived. */
export function withoutArchived(area: Area, directory: Pick<Directory, "project">): Area {
  return {
    ...area,
    routes: area.routes.map(route => (mayChange(route) ? guarded(route, directory) : route)),
  };
}

function mayChange({ method, operation }: AnyRoute): boolean {
  return method !== "GET" && !serving.has(operation);
}

function guarded(route: AnyRoute, directory: Pick<Directory, "project">): AnyRoute {
  return {
    ...route,
    errors: [...(route.errors ?? []), "project_archived"],
    handle: call => {
      const projectId = projectOf(call);
      if (projectId === null) return route.handle(call);
      return chain(directory.project(projectId), project => {
        requireUnarchived(project);
        return route.handle(call);
      });
    },
  };
}

/** Returns the project that a request names, else that of its user's token. */
function projectOf({
  params,
  query,
  body,
  principal,
}: Call<unknown, unknown, unknown, unknown>): string | null {
  const { projectId: inPath } = (params ?? {}) as Named;
  const { projectId: inBody } = (body ?? {}) as Named;
  const { projectId: inQuery, project_id: named = inQuery } = (query ?? {}) as Named;
  const { user, caller = user } = (principal ?? {}) as { readonly user?: Named; readonly caller?: Named };
  const found = inPath ?? inBody ?? named ?? caller?.projectId;
  return typeof found === "string" ? found.toLowerCase() : null;
}

interface Named {
  readonly projectId?: unknown;
  readonly project_id?: unknown;
}
