/**
 * Routes of operators for the client tokens of a project's app.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import { type AnyRoute, identityEnvelope, route } from "../../../http/mod.ts";
import type { ClientToken } from "../client_tokens.ts";
import { assertProject, type OperatorContext, operatorBase, seconds } from "./common.ts";
import {
  ClientTokenBodySchema,
  ClientTokenParams,
  ClientTokenSchema,
  ClientTokensSchema,
  IssuedClientTokenSchema,
  OperatorProjectParams,
} from "./schema.ts";

const path: `/${string}` = `${operatorBase}/client-tokens`;

/** Builds the routes that issue, list and end client tokens. */
export function clientTokenRoutes(context: OperatorContext): AnyRoute[] {
  const { clientTokens, configReader, configWriter } = context;
  return [
    route({
      method: "POST",
      path,
      operation: "issueClientToken",
      summary: "Issue a client token",
      description:
        "Issues a token for the app of the project, with which users without a session recover their passwords. It works for 366 days, or until it is ended. The answer alone carries it.",
      auth: configWriter,
      params: OperatorProjectParams,
      body: { schema: ClientTokenBodySchema, example: { name: "App 2.0" } },
      responses: { 201: { description: "The token", schema: IssuedClientTokenSchema } },
      errors: ["not_found", "limit_reached"],
      handle: async ({ principal, params: { projectId }, body }) => {
        await assertProject(context, principal, projectId);
        const { token, ...created } = await clientTokens.create(projectId, body.name);
        return identityEnvelope({ ...tokenJson(created), token }, { status: 201 });
      },
    }),
    route({
      method: "GET",
      path,
      operation: "listClientTokens",
      summary: "List the client tokens of a project",
      description: "Lists the client tokens of the project that have not expired, oldest first.",
      auth: configReader,
      params: OperatorProjectParams,
      responses: { 200: { description: "The tokens", schema: ClientTokensSchema } },
      errors: ["not_found"],
      handle: async ({ principal, params: { projectId } }) => {
        await assertProject(context, principal, projectId);
        return identityEnvelope({ clientTokens: (await clientTokens.list(projectId)).map(tokenJson) });
      },
    }),
    route({
      method: "DELETE",
      path: `${path}/:tokenId`,
      operation: "endClientToken",
      summary: "End a client token",
      description: "Ends a client token at once.",
      auth: configWriter,
      params: ClientTokenParams,
      responses: { 200: { description: "The token does not work any more", schema: ClientTokenSchema } },
      errors: ["not_found"],
      handle: async ({ principal, params: { projectId, tokenId } }) => {
        await assertProject(context, principal, projectId);
        const ended = await clientTokens.end(projectId, tokenId);
        if (ended === null) {
          throw new AppError("not_found", "Cannot end the client token as the project has no such token");
        }
        return identityEnvelope(tokenJson(ended));
      },
    }),
  ];
}

function tokenJson({ id, name, createdAt, expiresAt, endedAt }: ClientToken) {
  return {
    id,
    name,
    createdAt: seconds(createdAt),
    expiresAt: seconds(expiresAt),
    endedAt: endedAt === null ? null : seconds(endedAt),
  };
}
