/** Requests of the loyalty API. */

import * as v from "valibot";
import { isUuid } from "../../../auth/crypto/mod.ts";
import { integerParameter, named } from "../../../http/mod.ts";
import { propertiesSchema, UserIdSchema, wellFormed } from "../../../http/requests/validate.ts";
import { ActionNameSchema } from "../config/document.ts";
import { historyPageMax } from "../user/read_history.ts";

export const dataTextCharactersMax = 1_024;
export const dataPropertiesMax = 64;
/** Longest name of a property of an action's data, in characters. */
export const dataNameCharactersMax = 64;
export const actionIdCharactersMax = 128;

const timestamp = (description: string) =>
  v.exactOptional(
    v.pipe(
      v.string(),
      v.metadata({ type: "integer", description }),
      v.regex(/^\d{1,12}$/, "Expected a Unix time in seconds"),
      v.transform(Number),
    ),
  );

const userQuery = {
  user_id: v.exactOptional(
    v.pipe(UserIdSchema, v.description("Id of the user whom a service token acts for; required with one")),
  ),
  external_id: v.exactOptional(
    v.pipe(
      v.string(),
      v.description(
        "Id of that user's account at the issuer that the space's default project names, in place of `user_id`",
      ),
      v.maxLength(255),
    ),
  ),
  project_id: v.exactOptional(
    v.pipe(
      v.string(),
      v.description("Project of the user, where the space may not know the user yet"),
      v.check(isUuid, "Expected a UUID"),
      v.toLowerCase(),
    ),
  ),
};

export const UserQuerySchema = v.object(userQuery);
export const HistoryQuerySchema = v.object({
  ...userQuery,
  from: timestamp("Earliest time of a transaction, Unix seconds"),
  to: timestamp("Latest time of a transaction, Unix seconds, inclusive"),
  limit: v.optional(
    integerParameter({ description: "Most transactions", minimum: 1, maximum: historyPageMax }),
    `${historyPageMax}`,
  ),
  cursor: v.exactOptional(
    v.pipe(v.string(), v.description("Continues after a page: its cursor, with the same from and to")),
  ),
});

const actionEntries = {
  action: v.pipe(ActionNameSchema, v.description("Name of an action of the space's configuration")),
  data: v.pipe(
    v.optional(
      propertiesSchema({
        name: "ActionData",
        entriesMax: dataPropertiesMax,
        nameCharactersMax: dataNameCharactersMax,
        textCharactersMax: dataTextCharactersMax,
      }),
      {},
    ),
    v.description("Facts of the action, which rules compare and add up"),
  ),
};

export const ActionBodySchema = named(
  "ActionReport",
  v.strictObject({
    ...actionEntries,
    actionId: v.exactOptional(
      v.pipe(
        v.string(),
        v.description("The action takes effect once under this id"),
        v.minLength(1),
        v.maxLength(actionIdCharactersMax),
        wellFormed,
      ),
    ),
    isGuarded: v.exactOptional(
      v.pipe(
        v.boolean(),
        v.description("True: a back end's vote is checked like that of a fan, which always is"),
      ),
    ),
  }),
);

export const VotesQuerySchema = v.object({
  ...userQuery,
  event_id: v.pipe(
    v.string(),
    v.description("Id of the event"),
    v.check(isUuid, "Expected a UUID"),
    v.toLowerCase(),
  ),
});

export const DryRunBodySchema = named(
  "ActionTrial",
  v.strictObject({ ...actionEntries, userId: UserIdSchema }),
);
