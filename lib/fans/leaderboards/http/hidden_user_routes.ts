/**
 * The routes with which back ends hide users from the lists of a project's boards, an addition to the specification.
 *
 * @module
 */

import * as v from "valibot";
import type { ApiKeyPrincipal } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { type AnyRoute, empty, json, named, route } from "../../../http/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { HiddenUserSchema } from "../ranking/hidden_users.ts";
import type { LeaderboardContext } from "./answers.ts";
import { HiddenUserParams, HiddenUsersParams } from "./schema.ts";

const path = "/projects/:projectId/hidden-users";
const HiddenUsersReply = named("HiddenUsersReply", v.object({ data: v.array(HiddenUserSchema) }));
const HiddenUserReply = named("HiddenUserReply", v.object({ data: HiddenUserSchema }));

/** Builds the routes of hidden users. */
export function hiddenUserRoutes(context: LeaderboardContext): readonly AnyRoute[] {
  const { directory, hiddenUsers, usersReader, usersWriter } = context;
  return [
    route({
      method: "GET",
      path,
      operation: "listHiddenUsers",
      summary: "List hidden users",
      description:
        "Lists the users whom the leaderboards of the project leave out, in the order in which they were hidden.",
      auth: usersReader,
      params: HiddenUsersParams,
      responses: {
        200: { description: "The hidden users", schema: HiddenUsersReply },
      },
      errors: ["not_found"],
      handle: async ({ principal, params: { projectId } }) => {
        await requireOwnProject(directory, principal, projectId);
        return json(200, { data: await hiddenUsers.list(projectId) });
      },
    }),
    route({
      method: "PUT",
      path: `${path}/:userId`,
      operation: "hideUser",
      summary: "Hide a user",
      description:
        "Leaves the user out of the lists of the project's leaderboards. All ranks stay as they are.",
      auth: usersWriter,
      params: HiddenUserParams,
      responses: {
        200: { description: "The user is hidden", schema: HiddenUserReply },
      },
      errors: ["not_found", "conflict"],
      handle: async ({ principal, params: { projectId, userId } }) => {
        await requireOwnProject(directory, principal, projectId);
        return json(200, { data: await hiddenUsers.hide(projectId, userId) });
      },
    }),
    route({
      method: "DELETE",
      path: `${path}/:userId`,
      operation: "showUser",
      summary: "Show a user again",
      description: "Lists the user on the project's leaderboards again.",
      auth: usersWriter,
      params: HiddenUserParams,
      responses: { 204: { description: "The user is not hidden" } },
      errors: ["not_found"],
      handle: async ({ principal, params: { projectId, userId } }) => {
        await requireOwnProject(directory, principal, projectId);
        await hiddenUsers.show(projectId, userId);
        return empty();
      },
    }),
  ];
}

/** Projects of other organisations are unknown to a key. */
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
