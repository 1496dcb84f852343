/**
 * The custom fields of users' profiles, as conditions read them. The area of profiles writes the record; it is in the partition of
 * the user's loyalty, so that a decision reads both at once.
 *
 * @module
 */

import { JsonMembers } from "../../../base/text/mod.ts";
import { RecordCache } from "../../../storage/mod.ts";
import { ownValue } from "../config/scope.ts";

/** Key of a user's profile. */
export const profileKey = "profile";

/** Custom fields of a profile by name. */
export type ProfileFields = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Custom fields that a process remembers, so that decisions need not read them. */
export type ProfileFieldsCache = RecordCache<ProfileFields>;

/** Number of users whose custom fields a process keeps. */
const usersMax = 10_000;

/** Creates the cache of a process. It only reads. */
export function createProfileFieldsCache(): ProfileFieldsCache {
  const parse = (text: string): ProfileFields =>
    (new JsonMembers(text).value("customFields") as ProfileFields | undefined) ?? {};
  return new RecordCache({ key: profileKey, parse, entriesMax: usersMax });
}

export function pickFields(fields: ProfileFields, names: ReadonlySet<string>): ProfileFields {
  const picked = [...names].flatMap((name): [string, ProfileFields[string]][] => {
    const value = ownValue(fields, name);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(picked);
}
