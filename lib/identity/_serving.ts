/**
 * What the route tables of the identity API share.
 *
 * @module
 */

import * as v from "valibot";
import type { Reply } from "../http/mod.ts";
import {
  type CallFacts,
  type OperationContext,
  type Operations,
  runOperation,
  type Selector,
} from "./operations.ts";

/** What a token of a user may be refused for. */
export const sessionErrors = ["invalid_token", "session_revoked", "account_banned"] as const;

/** Every answer of the identity API that is no error. */
export const EnvelopeSchema: v.GenericSchema = v.looseObject({
  result: v.pipe(v.number(), v.integer()),
  message: v.string(),
  data: v.looseObject({}),
});

/** Handles the calls of a route by the operation that each one selects. */
export interface Serving {
  /** Operations whose input is the body. `event` is what the audit trail calls them. */
  body(
    operations: Operations,
    event: string,
  ): (call: CallFacts & { readonly body: Selector }) => Promise<Reply>;
  /** Operations whose input is the query. */
  query(
    operations: Operations,
    event: string,
  ): (call: CallFacts & { readonly query: Selector }) => Promise<Reply>;
}

/** Creates the handlers of the routes. */
export function serving(context: OperationContext): Serving {
  return {
    body: (operations, event) => call =>
      runOperation(operations, call.body, { context, event, subject: "body", call }),
    query: (operations, event) => call =>
      runOperation(operations, call.query, { context, event, subject: "parameters", call }),
  };
}
