import * as v from "valibot";

/** Longest id of a user, in characters. */
export const userIdCharactersMax = 128;
/** What an id of a user must be. Lists of ids are separated by commas, and spaces around them are not part of an id. */
export const userIdExpectation = `Expected 1 to ${userIdCharactersMax} characters without commas, and without a space at either end`;

const shape = /^[^\s,](?:[^,]*[^\s,])?$/;

/** Tests if a value is the id of a user. */
export function isUserId(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.length <= userIdCharactersMax &&
    shape.test(value) &&
    value.isWellFormed()
  );
}

/** The id of a user, such as a UUID of ours or an id of the caller's own. */
export const UserIdSchema = v.pipe(
  v.string(),
  v.description("Id of the user"),
  v.minLength(1),
  v.maxLength(userIdCharactersMax),
  v.check((text: string) => isUserId(text), userIdExpectation),
);
