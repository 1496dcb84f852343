/**
 * Schemas of answers that several operations share. They are strict, so that the alternatives of a route exclude each
 * other.
 *
 * @module
 */

import * as v from "valibot";
import { named } from "../../http/mod.ts";

const seconds = (description: string) =>
  v.pipe(v.number(), v.integer(), v.description(`${description}, Unix seconds`));

/** Describes an identity answer: `{result: 1, message, data}`. */
export const answerOf = <S extends v.GenericSchema>(data: S) =>
  v.strictObject({ result: v.literal(1), message: v.string(), data });

export const signUp = seconds("Time of sign-up");
/** Times of logins. */
export const loginHistory = v.pipe(
  v.array(v.pipe(v.number(), v.integer())),
  v.description("Logins, Unix seconds"),
);
/** A time of change, which the interface has as text. */
export const updatedAt = v.pipe(v.string(), v.description("Time of the last change, Unix seconds as text"));
/** An application profile. It is no `v.record`, which drops members such as `constructor`. */
export const appProfile = v.pipe(
  v.custom<Readonly<Record<string, unknown>>>(
    value => typeof value === "object" && value !== null && !Array.isArray(value),
    "Expected an object",
  ),
  v.metadata({ type: "object", description: "Members that the client decides" }),
);

/** The members of a signed session record. */
export const recordEntries = {
  deviceId: v.string(),
  timeStamp: seconds("Time of issue"),
  signature: v.pipe(
    v.string(),
    v.description("HMAC-SHA-256 of the record, 64 upper-case hexadecimal digits"),
  ),
  externalId: v.string(),
  userId: v.string(),
  signUp,
};

/** The tokens of a session. */
export const tokenEntries = {
  accessToken: v.pipe(v.string(), v.description("JWT for the APIs, for 10 minutes")),
  profileToken: v.pipe(v.string(), v.description("JWT with the profile")),
  refreshToken: v.pipe(v.string(), v.description("JWT that is exchanged for new tokens, once")),
};

/** A device in a profile. */
export const DeviceItemSchema = named(
  "Device",
  v.strictObject({
    deviceId: v.string(),
    lastLogin: seconds("Last login"),
    signUp,
    userId: v.string(),
    timeStamp: seconds("Time of the record"),
    signature: v.string(),
  }),
);

export const RecordAnswer = named("SessionRecordAnswer", answerOf(v.strictObject(recordEntries)));
/** The answer with a session record and tokens. */
export const SessionAnswer = named(
  "SessionAnswer",
  answerOf(v.strictObject({ ...recordEntries, ...tokenEntries })),
);
/** The answer without data. */
export const EmptyAnswer = named("EmptyAnswer", answerOf(v.strictObject({})));
