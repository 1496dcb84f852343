/**
 * The routes with which back ends hide users from the lists of a project's boards, an addition to the specification.
 *
 * @module
 */

import * as v from "valibot";
import type { ApiKeyPrincipal } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { type AnyRoute, type Guard, json, looseRoute } from "../../http/mod.ts";
import type { HiddenUsers } from "../ranking/hidden_users.ts";
import { ProjectParamsSchema, ProjectUserParamsSchema } from "./schema.ts";

/** What the routes work with. */
export interface HiddenUserContext {
  readonly directory: Directory;
  readonly hiddenUsers: HiddenUsers;
  /** Demands an API key that may read users. */
  readonly usersReader: Guard<ApiKeyPrincipal>;
  /** Demands an API key that may change users. */
  readonly usersWriter: Guard<ApiKeyPrincipal>;
}

const path = "/projects/:projectId/hidden-users";
const HiddenUserSchema = v.object({ userId: v.string(), since: v.pipe(v.number(), v.integer()) });

/** Builds the routes of hidden users. */
export function hiddenUserRoutes(context: HiddenUserContext): readonly AnyRoute[] {
  const { directory, hiddenUsers, usersReader, usersWriter } = context;
  return [
    looseRoute({
      method: "GET",
      path,
      operation: "listHiddenUsers",
      summary: "List the users whom the leaderboards of the project leave out",
      auth: usersReader,
      params: ProjectParamsSchema,
      responses: {
        200: {
          description: "The hidden users in the order in which they were hidden; `since` in Unix seconds",
          schema: v.object({ data: v.array(HiddenUserSchema) }),
        },
      },
      errors: ["not_found"],
      handle: async ({ principal, params: { projectId } }) => {
        await requireOwnProject(directory, principal, projectId);
        return json(200, { data: await hiddenUsers.list(projectId) });
      },
    }),
    looseRoute({
      method: "PUT",
      path: `${path}/:userId`,
      operation: "hideUser",
      summary: "Leave a user out of the lists of the project's leaderboards; ranks stay as they are",
      auth: usersWriter,
      params: ProjectUserParamsSchema,
      responses: {
        200: { description: "The user is hidden", schema: v.object({ data: HiddenUserSchema }) },
      },
      errors: ["not_found", "conflict"],
      handle: async ({ principal, params: { projectId, userId } }) => {
        await requireOwnProject(directory, principal, projectId);
        return json(200, { data: await hiddenUsers.hide(projectId, userId) });
      },
    }),
    looseRoute({
      method: "DELETE",
      path: `${path}/:userId`,
      operation: "showUser",
      summary: "Show a user in the lists of the project's leaderboards again",
      auth: usersWriter,
      params: ProjectUserParamsSchema,
      responses: { 204: { description: "The user is not hidden" } },
      errors: ["not_found"],
      handle: async ({ principal, params: { projectId, userId } }) => {
        await requireOwnProject(directory, principal, projectId);
        await hiddenUsers.show(projectId, userId);
        return { status: 204 };
      },
    }),
  ];
}

/** Another organisation's project is unknown to a key. */
async function requireOwnProject(
  directory: Directory,
  principal: ApiKeyPrincipal,
  projectId: string,
): Promise<void> {
  const project = await directory.project(projectId);
  if (project?.organisationId !== principal.organisationId) {
    throw new AppError("not_found", "Cannot find the users as their project is unknown");
  }
}
