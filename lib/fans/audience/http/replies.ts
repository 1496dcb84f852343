/** Reply schemas that several routes share. */

import * as v from "valibot";
import { named } from "../../../http/mod.ts";
import { BulkResultSchema } from "../batch/results.ts";

const message = v.pipe(v.string(), v.description("For people"));

export const BulkReplySchema = named("BulkReply", v.object({ message, data: BulkResultSchema }));

const UnknownUserSchema = named(
  "UnknownUser",
  v.object({
    user_id: v.string(),
    data: v.null(),
    error: v.object({ code: v.literal("not_found"), message: v.string() }),
  }),
);

/** Wraps the members of a reply in its envelope, under a name in the OpenAPI document. */
export function replySchema<E extends v.ObjectEntries>(
  name: string,
  entries: E,
): v.ObjectSchema<E & { readonly message: typeof message }, undefined> {
  return named(name, v.object({ message, ...entries }));
}

/** Describes a reply for several users: the members of each in the order of the request, or an error. */
export function usersReplySchema<E extends v.ObjectEntries>(name: string, entries: E) {
  const user = named(name, v.object({ user_id: v.string(), ...entries }));
  return named(`${name}List`, v.object({ message, users: v.array(v.union([user, UnknownUserSchema])) }));
}
