/**
 * The routes of the identity API that exist so far: the credential-less and the anonymous users.
 *
 * @module
 */

import * as v from "valibot";
import { type AnyRoute, open, type Reply, route } from "../http/mod.ts";
import { loginAnonymous, registerAnonymous } from "./anonymous.ts";
import type { IdentityContext } from "./context.ts";
import { createNoLoginUser, fetchNoLoginUser } from "./no_login.ts";
import {
  type CallFacts,
  type Operations,
  runOperation,
  type Selector,
  SelectorSchema,
} from "./operations.ts";

const EnvelopeSchema = v.looseObject({
  result: v.pipe(v.number(), v.integer()),
  message: v.string(),
  data: v.looseObject({}),
});

/** Builds the identity routes. */
export function identityRoutes(context: IdentityContext): readonly AnyRoute[] {
  const body =
    (operations: Operations, event: string) =>
    (call: CallFacts & { readonly body: Selector }): Promise<Reply> =>
      runOperation(operations, call.body, { context, event, subject: "body", call });
  const query =
    (operations: Operations, event: string) =>
    (call: CallFacts & { readonly query: Selector }): Promise<Reply> =>
      runOperation(operations, call.query, { context, event, subject: "parameters", call });
  const register: Operations = {
    "simplified/noLogin": createNoLoginUser(context),
    "simplified/anonymous": registerAnonymous(context),
  };
  const profile: Operations = { "simplified/noLogin": fetchNoLoginUser(context) };
  const login: Operations = { "simplified/anonymous": loginAnonymous(context) };
  const common = { auth: open, errors: ["unsupported_provider"] as const };
  return [
    route({
      ...common,
      method: "POST",
      path: "/v1/user",
      operation: "registerUser",
      summary: "Register a user with the provider that `strategy` and `provider` name",
      body: { schema: SelectorSchema },
      responses: {
        200: { description: "The user was created (noLogin)", schema: EnvelopeSchema },
        201: { description: "The user is registered (anonymous)", schema: EnvelopeSchema },
      },
      handle: body(register, "register"),
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/user",
      operation: "getUser",
      summary: "Fetch the profile of a user",
      errors: ["unsupported_provider", "not_found"],
      query: SelectorSchema,
      responses: { 200: { description: "The profile", schema: EnvelopeSchema } },
      handle: query(profile, "profile"),
    }),
    route({
      ...common,
      method: "PUT",
      path: "/v1/user/login",
      operation: "logInUser",
      summary: "Log a user in",
      errors: ["unsupported_provider", "invalid_credentials"],
      body: { schema: SelectorSchema },
      responses: { 200: { description: "The session record", schema: EnvelopeSchema } },
      handle: body(login, "login"),
    }),
  ];
}
