/**
 * What callers of the loyalty API may send.
 *
 * @module
 */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import { type ActionData, ActionNameSchema } from "../config/document.ts";

/** Longest text in an action's data, in characters. */
export const dataTextCharactersMax = 1_024;
/** Most properties of an action's data. */
export const dataPropertiesMax = 64;
/** Longest name of a property of an action's data, in characters. */
export const dataNameCharactersMax = 64;
/** Longest action id, in characters. */
export const actionIdCharactersMax = 128;
/** Longest user id that a back end may name, in characters. */
export const memberIdCharactersMax = 128;

/** Whose loyalty a back end asks for, and the project of a user that the space may not have met; users need not say. */
export interface MemberQuery {
  readonly user_id?: string;
  readonly project_id?: string;
}

/** A member, and from when to when in Unix seconds. */
export interface HistoryQuery extends MemberQuery {
  readonly from?: number;
  readonly to?: number;
}

/** A reported action. */
export interface ActionBody {
  readonly action: string;
  readonly actionId?: string;
  readonly data: ActionData;
}

const wellFormed = v.check((text: string) => text.isWellFormed(), "Expected well-formed Unicode");
const projectId = v.pipe(v.string(), v.check(isUuid, "Expected a UUID"), v.toLowerCase());

/** The id of a user: any text that is not too long. */
export const UserIdSchema: v.GenericSchema<unknown, string> = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(memberIdCharactersMax),
  wellFormed,
);

const actingFor = { user_id: v.exactOptional(UserIdSchema), project_id: v.exactOptional(projectId) };
const timestamp = v.exactOptional(
  v.pipe(v.string(), v.regex(/^\d{1,12}$/, "Expected a Unix time in seconds"), v.transform(Number)),
);

/** The query of routes about a member. */
export const MemberQuerySchema: v.GenericSchema<unknown, MemberQuery> = v.object(actingFor);
/** The query of the history. */
export const HistoryQuerySchema: v.GenericSchema<unknown, HistoryQuery> = v.object({
  ...actingFor,
  from: timestamp,
  to: timestamp,
});

const DataSchema: v.GenericSchema<ActionData, ActionData> = v.pipe(
  v.record(
    v.pipe(v.string(), v.maxLength(dataNameCharactersMax)),
    v.union([
      v.pipe(v.string(), v.maxLength(dataTextCharactersMax)),
      v.pipe(v.number(), v.finite()),
      v.boolean(),
    ]),
  ),
  v.maxEntries(dataPropertiesMax),
);
const NoData: v.GenericSchema<ActionData, ActionData> = v.never("Expected an object of named properties");

/** A record schema by itself takes a list for an object, and passes over names that objects inherit. */
function dataSchemaFor(input: unknown): v.GenericSchema<ActionData, ActionData> {
  if (typeof input !== "object" || input === null) return DataSchema;
  const isRefused =
    Array.isArray(input) || Object.hasOwn(input, "constructor") || Object.hasOwn(input, "prototype");
  return isRefused ? NoData : DataSchema;
}

const actionFields = { action: ActionNameSchema, data: v.optional(v.lazy(dataSchemaFor), {}) };

/** The body of a report. */
export const ActionBodySchema: v.GenericSchema<unknown, ActionBody> = v.object({
  ...actionFields,
  actionId: v.exactOptional(
    v.pipe(v.string(), v.minLength(1), v.maxLength(actionIdCharactersMax), wellFormed),
  ),
});

/** The body of a dry run. */
export const DryRunBodySchema: v.GenericSchema<
  unknown,
  Omit<ActionBody, "actionId"> & { readonly userId: string }
> = v.object({ ...actionFields, userId: UserIdSchema });
