/** Shapes of the audience API, as the OpenAPI document tells them. */

import * as v from "valibot";

const json = v.record(v.string(), v.unknown());
const time = v.nullable(v.string());

/** A profile in its envelope. */
export const ProfileSchema: v.GenericSchema = v.object({
  message: v.string(),
  data: v.object({
    userId: v.string(),
    displayName: v.nullable(v.string()),
    preferences: json,
    customFields: json,
    loyalty: v.object({ metrics: json, balances: json, inventory: json, tier: v.nullable(json) }),
    activeChallenges: v.array(json),
    unreadNotifications: v.number(),
    createdAt: time,
    updatedAt: time,
    version: v.number(),
  }),
});

/** A page of a list. */
export const PageSchema: v.GenericSchema = v.object({
  message: v.string(),
  data: v.array(json),
  lastEvaluatedKey: v.nullable(v.string()),
});

/** A page of notifications. */
export const NotificationsPageSchema: v.GenericSchema = v.object({
  message: v.string(),
  data: v.array(json),
  lastEvaluatedKey: v.nullable(v.string()),
  unreadCount: v.number(),
});

/** The answer for several users, in the order in which they were named. */
export const UsersSchema: v.GenericSchema = v.object({
  message: v.string(),
  users: v.array(
    v.looseObject({
      user_id: v.string(),
      data: v.unknown(),
      error: v.optional(v.object({ code: v.string(), message: v.string() })),
    }),
  ),
});
